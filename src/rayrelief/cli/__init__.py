"""The command line: one file per verb."""

from __future__ import annotations


def main() -> None:
    """Run the command ``rayrelief``; heavy parts load only in the verb that needs them."""
    try:
        from rayrelief.cli.app import app

        app()
    except KeyboardInterrupt:  # while the command itself still loads
        raise SystemExit(130) from None
