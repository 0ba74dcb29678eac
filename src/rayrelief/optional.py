"""Packages that only some uses need: imported there, or an error that says how to install them."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from typing import Any

from rayrelief.errors import InputError


def library(module: str, purpose: str, extra: str, *, otherwise: str = "") -> Any:
    """Import a module of an optional package, or raise InputError.

    Parameters
    ----------
    module
        Such as "PIL.Image".
    purpose
        What needs it: the beginning of the message.
    extra
        Extra of this package that lists it.
    otherwise
        What can be done without it, as an imperative.
    """
    try:
        return import_module(module)
    except ImportError as error:
        absent = isinstance(error, ModuleNotFoundError)
        state = "is not installed" if absent else f"cannot be loaded ({error})"
        instead = f", or {otherwise}" if otherwise else ""
        raise InputError(
            f"{purpose} needs the package {module.partition('.')[0]}, which {state}",
            expected=f"rayrelief with its extra {extra}",
            remedy=f"Install it: python -m pip install {_requirements(extra)}{instead}",
        ) from error


def _requirements(extra: str) -> str:
    """What pip is asked for: the packages themselves, where this one has been installed."""
    try:
        listed = [each.partition(";") for each in requires("rayrelief") or ()]
    except PackageNotFoundError:
        listed = []
    wanted = (f"extra == '{extra}'", f'extra == "{extra}"')
    found = [name.strip() for name, _, marker in listed if marker.strip() in wanted]
    return " ".join(f'"{each}"' for each in found or [f"rayrelief[{extra}]"])
