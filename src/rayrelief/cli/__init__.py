"""The command line: one file per verb."""

from __future__ import annotations


def main() -> None:
    """Run the command ``rayrelief``; heavy parts load only in the verb that needs them."""
    from rayrelief.cli.signals import Handled
    from rayrelief.cli.streams import open_closed_streams

    with Handled():
        open_closed_streams()
        from rayrelief.cli.app import app

        app()
