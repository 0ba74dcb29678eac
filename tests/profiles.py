"""How many random examples a test draws, and whether they are always the same ones.

By default they are the same in every run, so that a test fails only where something has changed.
`--hypothesis-profile=deep` (`make test-deep`) draws many fresh ones, and a failure prints how to
see it again; `fast` (`make test-fast`) draws a few. No limit on the time of an example: the first
call of a kernel compiles it, and other programs share the cores.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

ALWAYS = settings(
    database=None,
    deadline=None,
    print_blob=True,
    # A file that an example writes into the folder of its test replaces that of the one before.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("same", ALWAYS, max_examples=30, derandomize=True)
settings.register_profile("fast", ALWAYS, max_examples=10, derandomize=True)
settings.register_profile("deep", ALWAYS, max_examples=300, derandomize=False)
settings.load_profile("same")


def fewer_examples(times: int) -> settings:
    """Settings of a test with costly examples: so many times fewer of them than the profile has."""
    return settings(max_examples=max(1, settings().max_examples // times))
