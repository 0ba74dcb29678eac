"""The streams of the command while libraries are kept off them."""

from __future__ import annotations

import os
import threading

from rayrelief.cli.terminal.console import quiet_libraries


def test_streams_come_back_from_threads_that_overlap(capfd):
    entered, may_leave = threading.Event(), threading.Event()

    def keep_quiet():
        with quiet_libraries():
            entered.set()
            may_leave.wait()

    other = threading.Thread(target=keep_quiet)
    with quiet_libraries():
        other.start()
        entered.wait(0.1)  # which it does not, or it takes the streams as they are here
    may_leave.set()
    other.join()
    for number in (1, 2):
        os.write(number, b"here")
    assert capfd.readouterr() == ("here", "here")
