"""Advice on the axes of a normal map: what they are, what that rests on, and what to do."""

from __future__ import annotations

import warnings

import numpy as np

from rayrelief.cameras.base import Camera
from rayrelief.conventions import (
    AUTO,
    CONVENTIONS,
    BoolArray,
    FloatArray,
    axes_in_words,
    axes_of,
    convention_name,
)
from rayrelief.doctor.axes import LEAST_PIXELS, Axes, Evidence, find_axes
from rayrelief.doctor.cues import Outline
from rayrelief.doctor.frame import SUSPICIOUS, find_tilt
from rayrelief.doctor.likeness import unlike_normals
from rayrelief.doctor.windows import LARGEST, Projection, share_facing_away, windows_of
from rayrelief.errors import InputError, IntegrationWarning

DOUBTED = 2.5  # standard deviations against what was told that are worth a warning
SAID = 0.5  # standard deviations: a cue that says less is not mentioned
NAMED = 3  # rivals that are named in a message
MOST_AWAY = 0.25  # of the normals face away, in any axes: more is no noise
INWARDS = -0.5  # mean cosine with the way out of a mask, by how sure it is the outline of a body
FEW = 1 << 16  # pixels that are looked at where a run has taken its time and memory already
WORLD = "blender"
WORLD_NOTE = (
    "Blender's Normal pass is in world space; read as if it had been turned into the frame of the "
    "camera (red right, green up, blue towards it), which maps without curved surfaces do not show"
)
GO_ON = "pass check_convention=False (--no-convention-check) to go on as told"
LOOK = "Check that it is the right file, and that its mask leaves out what is no surface"
TURN = (
    "They may be in world space, as Blender's Normal pass is: rotate them into the frame of the "
    "camera first (see docs/conventions.md)"
)


def settle_axes(
    vectors: FloatArray,
    mask: BoolArray,
    camera: Camera,
    convention: str,
    *,
    image: bool,
    coded: bool = False,
    name: str,
    check: bool,
) -> tuple[str, tuple[str, ...]]:
    """Axes of a map (H, W, 3) in the frame of its file, and a note where they were found out.

    Parameters
    ----------
    convention
        What was told, or "auto". InputError where the map speaks clearly against it, and where
        "auto" finds no answer; a warning where it speaks against it less clearly.
    image
        Whether the file is an image, see `axes_of`.
    coded
        Whether the vectors were decoded from colours: a warning where these are no normals'.
    name
        Of the file, for messages.
    check
        Whether to look at what was told.
    """
    if coded and check and (doubt := unlike_normals(vectors, mask)):
        warnings.warn(f"{name} may be no normal map: {doubt}. {LOOK}", IntegrationWarning, 3)
    if isinstance(convention, str) and convention.strip().lower() == AUTO:
        found = find_axes(vectors, mask, camera)
        if not found.decided:
            raise undecided(found, name)
        if tilt := find_tilt(vectors, mask, found.readings[0], camera):
            raise turned(tilt, name)
        note = f"{name}: {verdict(found)}; {'; '.join(reasons(found))}"
        return found.readings[0].axes, (note,)
    told = axes_of(convention, image=image)
    notes = (f"{name}: {WORLD_NOTE}",) if convention.strip().lower() == WORLD else ()
    if not check:
        return told, notes
    found = find_axes(vectors, mask, camera)
    if not found.readings:
        return told, (*notes, *_away_in_all(vectors, mask, camera, told, name))
    if found.against(told) >= DOUBTED:
        free = _with_any_camera(found, vectors, mask, camera)
        better = free if free.decided else found
        if found.refutes(told) and free.refutes(told):
            if tilt := find_tilt(vectors, mask, better.readings[0], camera):
                raise turned(tilt, name)
            raise refuted(better, told, convention, name)
        if found.refutes(told):
            doubt = (
                f"the normals fit {convention!r} through another camera, but not through this one"
            )
            return told, (*notes, f"{name}: {doubt}: check the camera")
        if free.against(told) >= DOUBTED:
            warnings.warn(doubted(better, convention, name), IntegrationWarning, stacklevel=3)
    (reading,) = (each for each in found.readings if each.axes == told)
    if tilt := find_tilt(vectors, mask, reading, camera):
        raise turned(tilt, name)
    return told, notes


def _away_in_all(
    vectors: FloatArray, mask: BoolArray, camera: Camera, axes: str, name: str
) -> tuple[str, ...]:
    """Note on normals some of which face away, in these axes as in all others; many: InputError."""
    windows = windows_of(vectors, mask)
    away = share_facing_away(windows, axes, [Projection.of(camera, each) for each in windows])
    found = f"{100 * away:.3g} % of the normals of {name} face away from the camera"
    if away > MOST_AWAY:
        raise InputError(
            f"{found}, and in no axes do they face it",
            expected="normals in the frame of the camera, and the camera that saw them",
            remedy=f"{TURN}. Or the camera is another one; or {GO_ON}",
        )
    return (f"{found}, more than those of a surface in any axes",) if windows else ()


def _with_any_camera(
    found: Axes, vectors: FloatArray, mask: BoolArray, camera: Camera, largest: int = LARGEST
) -> Axes:
    """What a map says about its axes without the camera through which something was found.

    It may be the camera that is wrong: the axes are only if no camera suits them. A map that fits
    one which sees behind itself fits no other kind.
    """
    behind = bool(np.any(camera.unit_rays(*mask.shape)[..., 2] <= 0))
    suits = behind and found.readings[0].curl.mean < SUSPICIOUS
    return found if suits else find_axes(vectors, mask, largest=largest)


def inside_out(normals: FloatArray, mask: BoolArray) -> bool:
    """Whether normals (H, W, 3) in the OpenCV camera frame point inwards where a body ends.

    They still have a surface, a hollow one, which fits them as well.
    """
    outline = Outline.of(windows_of(normals, mask, FEW), channel=2)
    agreement = outline.agreement(CONVENTIONS["opencv"])
    return len(outline.vectors) >= LEAST_PIXELS and outline.trust * agreement < INWARDS


def misread(normals: FloatArray, mask: BoolArray, camera: Camera) -> tuple[str, ...]:
    """Say that normals (H, W, 3) are clearly not in the OpenCV camera frame, if they are not."""
    frame = CONVENTIONS["opencv"]
    found = find_axes(normals, mask, camera, FEW)
    if not found.refutes(frame):
        return ()
    free = _with_any_camera(found, normals, mask, camera, FEW)
    if not free.refutes(frame):
        return ()
    axes = (free if free.decided else found).readings[0].axes
    return (
        f"the normals do not fit the OpenCV camera frame, but the axes {axes!r} "
        f"({axes_in_words(axes)}): convert them with rayrelief.to_opencv(normals, {axes!r}) or, if "
        "they were converted, from another convention than before",
    )


def verdict(found: Axes) -> str:
    """The answer in a sentence."""
    if not found.readings:
        return "cannot tell the axes: the normals face no side in common"
    axes = found.readings[0].axes
    best, words = _named(axes), axes_in_words(axes)
    best = best if words in best else f"{best} ({words})"
    sure = f"confidence {100 * found.confidence:.0f} %"
    if found.decided:
        return f"axes of {best}, {sure}"
    return f"cannot tell the axes: {best} or {_listed(found.rivals)}"


def reasons(found: Axes) -> tuple[str, ...]:
    """What the answer rests on: each cue that prefers the best reading to its nearest rivals."""
    if not found.readings:
        return ("no order and no signs of their components make them face the camera",)
    best, *others = found.readings
    if not others:
        return ("facing: in no other axes do the normals face the camera",)
    evidence = [Evidence.between(best, other) for other in others]
    said = []
    if any(each.facing > SAID for each in evidence):
        said.append(f"facing: {100 * best.away:.1f} % of the normals would face away")
    if any(each.curl > SAID for each in evidence):
        curls = sorted(other.curl.mean for other in others)
        said.append(
            f"curl: {best.curl.mean:.2f} of what it could be, in other axes up to {curls[-1]:.2f}"
        )
    if any(each.outline > SAID for each in evidence):
        said.append(
            f"outline: cosine {best.agreement:.2f} between the normals and the way out of the "
            f"mask, at {best.outline[0]:,} pixels"
        )
    recedes, rises = best.contours
    if any(each.contours > SAID for each in evidence) and recedes > 2 * rises:
        said.append(
            f"contours: steep surfaces turn away at {recedes:,} of {recedes + rises:,} pixels"
        )
    return tuple(said) or ("nothing in the map tells them apart",)


def undecided(found: Axes, name: str) -> InputError:
    """Error for a map that does not say what its axes are."""
    return InputError(
        f"{name}: {verdict(found)}",
        expected="a map that tells, or convention= (--convention)",
        remedy=TURN if not found.readings else _ask(found),
    )


def turned(tilt: float, name: str) -> InputError:
    """Error for normals that are not in the frame of their camera."""
    return InputError(
        f"the normals of {name} fit a surface only after a turn of {tilt:.0f} degrees",
        expected="normals in the frame of the camera",
        remedy=f"{TURN}. Or the camera points elsewhere, as one whose principal point is wrong; or "
        f"{GO_ON}",
    )


def refuted(found: Axes, told: str, convention: str, name: str) -> InputError:
    """Error for a map that was read in axes that it does not have."""
    fitting = [axes for axes in found.candidates if axes != told]
    best = convention_name(found.readings[0].axes)
    advice = f"Pass convention={best!r} (--convention {best})" if found.decided else _ask(found)
    return InputError(
        f"the normals of {name} do not fit the convention {convention!r} ({axes_in_words(told)})",
        expected=f"{_listed(tuple(fitting))} ({'; '.join(reasons(found))})",
        remedy=f"{advice}, or {GO_ON}",
    )


def doubted(found: Axes, convention: str, name: str) -> str:
    """Warning for a map that fits other axes better than those it was read in."""
    best = convention_name(found.readings[0].axes)
    return (
        f"the normals of {name} fit the convention {best!r} better than {convention!r} "
        f"({'; '.join(reasons(found))}): check it, or ask 'rayrelief doctor'"
    )


def _ask(found: Axes) -> str:
    usual = [axes for axes in found.candidates if axes in CONVENTIONS.values()]
    if not usual:
        return "Check what wrote the map, and whether it holds normals: no known tool has such axes"
    choices = " or ".join(f"--convention {convention_name(axes)}" for axes in usual[:NAMED])
    return f"Say what wrote the map, or its axes: {choices}"


def _named(axes: str) -> str:
    name = convention_name(axes)
    reverse = axes[::-1]
    if name == axes and reverse in CONVENTIONS.values():
        return f"{axes!r}, {convention_name(reverse)!r} with red and blue swapped"
    return repr(name) if name != axes else f"{axes!r} ({axes_in_words(axes)})"


def _listed(codes: tuple[str, ...]) -> str:
    named = " or ".join(_named(axes) for axes in codes[:NAMED])
    return named if len(codes) <= NAMED else f"{named} or {len(codes) - NAMED} others"
