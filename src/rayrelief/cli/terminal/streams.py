"""Standard streams that the caller closed."""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """Put nothing in the place of streams that the caller closed.

    Else the next file that is opened, such as a result, takes their number, and gets what libraries
    print; and some libraries do not load without them.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
