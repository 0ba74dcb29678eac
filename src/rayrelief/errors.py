"""Exceptions and the status of a run: what was found, expected, and what to do."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from enum import Enum
from functools import partial
from numbers import Number

__all__ = [
    "CameraError",
    "FileError",
    "InputError",
    "IntegrationError",
    "IntegrationWarning",
    "Outcome",
    "RayreliefError",
    "Status",
]

LONGEST_VALUE = 60  # characters
LONGEST_PART = 2000  # characters of what was found, expected and to do: files can hold any text


class RayreliefError(Exception):
    """Base of all errors; the message says what was found, what was expected and what to do.

    Parameters
    ----------
    found
        What was found, as a sentence without its full stop.
    expected
        What was expected, as a phrase that follows "expected".
    remedy
        What the user can do, as an imperative sentence without its full stop.
    """

    def __init__(self, found: str, *, expected: str = "", remedy: str = "") -> None:
        self.found, self.expected, self.remedy = (
            printable(part, LONGEST_PART) for part in (found, expected, remedy)
        )
        text = f"{self.found}; expected {self.expected}." if expected else f"{self.found}."
        super().__init__(f"{text} {self.remedy}." if remedy else text)

    def __reduce__(self) -> tuple[object, ...]:
        """Copy from the parts: the message already contains them."""
        parts = {"expected": self.expected, "remedy": self.remedy}
        return partial(type(self), **parts), (self.found,)


def in_number(number: int, one: str, several: str = "") -> str:
    """So many things; what several are called, where one with an s is not."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def shown(value: object) -> str:
    """A value in a few characters, however long and deep it is."""
    bounded = reprlib.Repr()
    bounded.maxlevel, bounded.maxstring, bounded.maxlist, bounded.maxother = 3, 200, 20, 60
    try:
        text = str(value) if isinstance(value, Number) else bounded.repr(value)
    except ValueError:  # Python writes out no more than 4,300 digits
        return "an integer of thousands of digits"
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


def printable(text: str, longest: int | None = None) -> str:
    """Text that a terminal shows as it is, whatever a file or its name contained.

    Line ends, escape sequences, marks that change the direction of reading and bytes that are no
    text appear as their escapes in Python; what is beyond ``longest`` characters is left out.
    """
    if longest is not None and len(text) > longest:
        text = text[: longest - 3] + "..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class InputError(RayreliefError, ValueError):
    """An array or an option that cannot be used."""


class FileError(RayreliefError):
    """A file that cannot be read or written, or does not contain what it should."""


class CameraError(InputError):
    """A camera that is impossible or does not match the normal map."""


class IntegrationError(RayreliefError):
    """The iteration ended without a usable surface (raised with ``on_failure="raise"``)."""


class IntegrationWarning(UserWarning):
    """The result is usable, but something should be checked."""


class Outcome(Enum):
    """How a run ended: each member has a cause and, for failures, a remedy."""

    CONVERGED = ("converged: the surface changed by less than the tolerance", "")
    SETTLED = ("converged: all steps of the method were run", "")
    ALTERNATES = (
        "finished: the surface alternates between two states; the one with lower energy was kept",
        "",
    )
    OSCILLATES = ("finished: the surface only oscillates around the same place", "")
    COMPLETED = ("finished: all iterations were run", "")
    STOPPED = ("stopped by the callback", "")
    ITERATION_LIMIT = (
        "not converged: the surface still moved at the iteration limit",
        "increase max_iterations of the method (--max-iterations)",
    )
    SOLVER_LIMIT = (
        "not converged: the inner solver reached its step limit before its tolerance",
        "leave normals at grazing angles out of the mask or, in Python, give the method a solver "
        "with more steps: solver=rayrelief.solvers.Multigrid(max_steps=1000)",
    )
    NO_EQUATIONS = (
        "no equation connects any two pixels of the mask",
        "check the mask, and that the normals face the camera",
    )
    NOT_FINITE = (
        "the iteration diverged beyond the range of floating-point numbers",
        "check the normals at grazing angles, or leave them out of the mask",
    )
    IMPLAUSIBLE = (
        "the surface is not plausible: its depths or its normals cannot be those of the scene",
        "check the camera, the convention and the mask, and leave normals at grazing angles out "
        "of it",
    )

    @property
    def cause(self) -> str:
        """Why the run ended."""
        return self.value[0]

    @property
    def remedy(self) -> str:
        """What to do about it; empty where nothing is wrong."""
        return self.value[1]

    @property
    def ok(self) -> bool:
        """Whether the run ended as it should."""
        return not self.remedy


@dataclass(frozen=True)
class Status:
    """How a run ended, with notes about the result."""

    outcome: Outcome
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the run ended as it should."""
        return self.outcome.ok

    @property
    def cause(self) -> str:
        """Why the run ended."""
        return self.outcome.cause

    @property
    def remedy(self) -> str:
        """What to do about it; empty where nothing is wrong."""
        return self.outcome.remedy

    def __str__(self) -> str:
        text = self.outcome.cause
        if self.outcome.remedy:
            text += f"; {self.outcome.remedy}"
        return "; ".join((text, *self.notes))
