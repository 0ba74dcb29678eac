"""The command line: one file per verb."""

from __future__ import annotations


def main() -> None:
    """Run the command ``rayrelief``; heavy parts load only in the verb that needs them."""
    from rayrelief.cli.signals import Handled

    with Handled():
        from rayrelief.cli.app import app

        app()
