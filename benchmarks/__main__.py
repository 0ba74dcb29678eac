"""``make bench``: the speed of the parts, then Table 2 where the data is present."""

from benchmarks import speed, table2

speed.conjugate_gradients()
speed.cold_start()
print()
table2.main([])
