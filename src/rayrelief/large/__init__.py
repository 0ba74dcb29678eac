"""Maps larger than memory: overlapping blocks, joined by a coarse problem and Schwarz sweeps."""
