"""The command line: one file per verb, and what verbs share in options, runs and terminal."""

from __future__ import annotations

import logging
import sys


def main() -> None:
    """Run the command ``rayrelief``; heavy parts load only in the verb that needs them."""
    from rayrelief.cli.terminal.signals import Handled
    from rayrelief.cli.terminal.streams import open_closed_streams
    from rayrelief.errors import RayreliefError

    with Handled():
        open_closed_streams()
        logging.getLogger().addHandler(
            logging.NullHandler()
        )  # libraries log what errors say better
        try:
            from rayrelief.cli.app import app

            app()
        except (RayreliefError, OSError, MemoryError, ImportError) as error:  # outside of the verbs
            from rayrelief.cli.terminal.console import EXIT_FAILED, in_words, say

            say(f"error: {in_words(error)}")
            sys.exit(EXIT_FAILED)
