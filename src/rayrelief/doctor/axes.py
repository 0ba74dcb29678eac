"""The axes of a normal map, found out from the map: every reading is weighed against every other.

A cue compares two readings and gives a number of standard deviations, limited by how far it is to
be trusted. Two readings are told apart where their cues add up to `DECIDED`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.conventions import ALL_AXES, CONVENTIONS, BoolArray, FloatArray
from rayrelief.doctor.cues import Curl, Outline, between, contours, curl, limited, smooth_cells
from rayrelief.doctor.windows import (
    FOREIGN,
    LARGEST,
    Projection,
    Slopes,
    Window,
    share_facing_away,
    windows_of,
)

DECIDED = 6.0
# How far each cue is trusted at most. Contours do not decide, not even for usual axes: a bowl in a
# plane has those of a dome. Each of the others may.
MOST_OUTLINE, MOST_CONTOURS, MOST_FACING = 8.0, 4.0, 10.0
LEAST_PIXELS = 10  # of an outline, of contours: fewer say nothing
MOST_AWAY = 0.1  # of the normals may face away: more is no reading at all
SCAN = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4)  # longer side over focal length: up to 70 degrees
# What nobody is known to write, or only by mistake, has to be shown by the map.
UNNAMED, REVERSED, SWAPPED = 1.5, 2.0, 3.0


@dataclass(frozen=True, eq=False)
class Reading:
    """A map read in some axes, and what each cue says about it.

    Attributes
    ----------
    axes
        Three letters, see `rayrelief.conventions`.
    widening
        Longer side over focal length of the pinhole that leaves the least curl; 0 with a camera.
    curl
        Through the camera, or through the pinhole that leaves the least.
    agreement
        Mean cosine between the normals along the outline of the mask and the way out.
    outline
        Pixels of the outline that this is the mean of, and how far to trust it, from 0 to 1.
    contours
        How often steep surfaces recede towards mild ones beside them, and how often they rise.
    away
        Share of the normals that face away.
    """

    axes: str
    widening: float
    curl: Curl
    agreement: float
    outline: tuple[int, float]
    contours: tuple[int, int]
    away: float

    @property
    def prior(self) -> float:
        """How unusual these axes are."""
        if self.axes in CONVENTIONS.values():
            return 0.0
        if self.axes[::-1] in CONVENTIONS.values():
            return -REVERSED
        return -UNNAMED if self.axes[0] in "RL" and self.axes[2] in "FB" else -SWAPPED

    @property
    def turning(self) -> float:
        """How clearly steep surfaces turn away at contours, from -1 to 1."""
        recedes, rises = self.contours
        return (recedes - rises) / max(recedes + rises, 1)


@dataclass(frozen=True)
class Evidence:
    """Standard deviations by which each cue prefers one reading to another."""

    curl: float
    outline: float
    contours: float
    facing: float
    prior: float

    @classmethod
    def between(cls, one: Reading, other: Reading) -> Evidence:
        """How much more one reading is to be believed than another."""
        return cls(
            curl=one.curl.evidence_against(other.curl),
            outline=_outline_evidence(one, other),
            contours=_contour_evidence(one, other),
            facing=limited(100.0 * (other.away - one.away), MOST_FACING),
            prior=one.prior - other.prior,
        )

    @property
    def total(self) -> float:
        """All cues together."""
        return float(sum(asdict(self).values()))


def _outline_evidence(one: Reading, other: Reading) -> float:
    (count, trust), (others, _) = one.outline, other.outline
    if min(count, others) < LEAST_PIXELS:
        return 0.0
    difference = (one.agreement - other.agreement) / 0.7  # the spread of a cosine
    independent = count / 10  # neighbours look alike
    # Bodies have 0.8 and more. What a mask has cut out of steep ground has some of everything.
    clear = between(max(abs(one.agreement), abs(other.agreement)), 0.5, 0.75)
    return limited(difference * math.sqrt(independent), MOST_OUTLINE * trust * clear)


def _contour_evidence(one: Reading, other: Reading) -> float:
    count = max(sum(one.contours), sum(other.contours))
    if count < LEAST_PIXELS:
        return 0.0
    clear = max(abs(one.turning), abs(other.turning)) > 0.6
    difference = (one.turning - other.turning) * math.sqrt(count / 8)  # neighbours look alike
    return limited(difference, MOST_CONTOURS if clear else MOST_CONTOURS / 2)


@dataclass(frozen=True, eq=False)
class Axes:
    """What was found out about the axes of a map.

    Attributes
    ----------
    readings
        All that face the camera, the most credible first; none for a map that faces no side.
    """

    readings: tuple[Reading, ...]

    @cached_property
    def margins(self) -> dict[str, float]:
        """Evidence for the most credible reading and against each of the others."""
        best, others = self.readings[0], self.readings[1:]
        return {other.axes: Evidence.between(best, other).total for other in others}

    @property
    def rivals(self) -> tuple[str, ...]:
        """Axes that cannot be told from the most credible ones, those in doubt first."""
        close = (axes for axes, margin in self.margins.items() if margin < DECIDED)
        return tuple(sorted(close, key=self.margins.__getitem__))

    @property
    def candidates(self) -> tuple[str, ...]:
        """Axes that the map may have, the most credible first."""
        return (self.readings[0].axes, *self.rivals) if self.readings else ()

    @property
    def decided(self) -> bool:
        """Whether one reading stands alone."""
        return len(self.candidates) == 1

    @property
    def confidence(self) -> float:
        """How sure the most credible reading is, from 0 to 1."""
        if not self.readings:
            return 0.0
        margin = min(self.margins.values(), default=DECIDED)
        return 1.0 / (1.0 + math.exp(-margin / 2.5))

    def against(self, axes: str) -> float:
        """Evidence against these axes, in standard deviations; 0 for the most credible ones."""
        if not self.readings or axes == self.readings[0].axes:
            return 0.0
        # Axes that were not looked at make most of the normals face away.
        return self.margins.get(axes, math.inf)

    def refutes(self, axes: str) -> bool:
        """Whether the map speaks clearly against these axes."""
        return self.against(axes) >= DECIDED


@FOREIGN
def find_axes(
    vectors: FloatArray, mask: BoolArray, camera: Camera | None = None, largest: int = LARGEST
) -> Axes:
    """Find the axes of a normal map (H, W, 3) in the frame of its file.

    Parameters
    ----------
    vectors
        Of any length; NaN where there is none.
    mask
        (H, W), True inside.
    camera
        If it is known; else centred pinholes and parallel rays are tried.
    largest
        Pixels looked at: of larger maps, parts that are spread over them.
    """
    windows = windows_of(vectors, mask, largest)
    if camera is None:
        tries = [[Projection.pinhole(w, window) for window in windows] for w in SCAN]
    else:
        tries = [[Projection.of(camera, window) for window in windows]]
    facing = [
        axes
        for axes in ALL_AXES
        if min(share_facing_away(windows, axes, tries[k]) for k in (0, -1)) <= MOST_AWAY
    ]
    if not windows or not facing:
        return Axes(())
    cells = [smooth_cells(window) for window in windows]
    outlines = [Outline.of(windows, channel) for channel in range(3)]
    readings = [
        _read(windows, cells, outlines[_channel_of_z(axes)], axes, tries) for axes in facing
    ]

    def worst(one: Reading) -> float:
        others = (other for other in readings if other is not one)
        return min((Evidence.between(one, other).total for other in others), default=0.0)

    return Axes(tuple(sorted(readings, key=worst, reverse=True)))


def _channel_of_z(axes: str) -> int:
    return next(channel for channel, letter in enumerate(axes) if letter in "FB")


def _read(
    windows: list[Window],
    cells: list[BoolArray],
    outline: Outline,
    axes: str,
    tries: list[list[Projection]],
) -> Reading:
    """Read a map in some axes, through the projection that suits them best."""
    curls = [curl(windows, cells, axes, projections) for projections in tries]
    away = [share_facing_away(windows, axes, projections) for projections in tries]
    best = min(range(len(tries)), key=lambda k: curls[k].mean + away[k])
    turns = [
        contours(Slopes.read(window, axes, projection))
        for window, projection in zip(windows, tries[best], strict=True)
    ]
    recedes, rises = np.sum(turns, axis=0)
    return Reading(
        axes=axes,
        widening=SCAN[best],
        curl=curls[best],
        agreement=outline.agreement(axes),
        outline=(len(outline.vectors), outline.trust),
        contours=(int(recedes), int(rises)),
        away=away[best],
    )
