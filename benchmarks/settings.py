"""What a run of the benchmarks covers; the defaults are what the limits are for."""

from __future__ import annotations

from dataclasses import dataclass, fields


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
        options = []
        for known in fields(self):
            value = getattr(self, known.name)
            if value != known.default:
                text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
                options.append(f"--{known.name.replace('_', '-')} {text}")
        return " ".join(["python -m benchmarks", part, *options])
