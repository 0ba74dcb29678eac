"""What a run of the benchmarks covers; the defaults are what the limits are for."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Smaller settings give a quick run; limits that need more than is measured are left out.

    Attributes
    ----------
    objects
        Objects of DiLiGenT; none for all.
    iterations
        Of the published schedule.
    noise_iterations
        Of the published schedule on noisy normals.
    sizes
        Sides of the square scenes, in pixels.
    """

    objects: tuple[str, ...] = ()
    iterations: int = 1200
    noise_iterations: int = 1200
    sizes: tuple[int, ...] = (512, 1024, 2048, 4096)

    def command(self, part: str) -> str:
        """What to type for this part with these settings."""
        return " ".join(["python -m benchmarks", part, *options_of(self)])


def names(text: str) -> tuple[str, ...]:
    """Names between commas, each once."""
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if "" in found:
        raise ArgumentTypeError(f"{text!r} has an empty name")
    return found


def options_of(settings: Any) -> list[str]:
    """What to add to a command for these settings, a dataclass: all that are not the default."""
    options = []
    for known in fields(settings):
        value = getattr(settings, known.name)
        if value != known.default:
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            options.append(f"--{known.name.replace('_', '-')} {text}")
    return options
