"""The server of the page: where it listens, and what it opens with."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rayrelief.errors import InputError
from rayrelief.optional import library
from rayrelief.shading import Image
from rayrelief.viewer.finished import Finished

if TYPE_CHECKING:
    from rayrelief.viewer.page.upload import Examine, Write


@contextmanager
def serve(
    results: Sequence[Finished],
    *,
    host: str,
    port: int,
    largest_upload: int,
    examine: Examine,
    write: Write,
    photo: Image | None = None,
    greet: Callable[[str], object] = str,
) -> Iterator[str]:
    """Serve results until the context ends, at an address that is yielded once all are drawn.

    Parameters
    ----------
    results
        Shown side by side.
    host, port
        Where to listen; the next port that is free is taken.
    largest_upload
        Bytes of a file that may be uploaded.
    examine
        Says what kind of normal map a path is, given its camera and its mask.
    write
        Writes the files of a result into a folder, given its scene and how long it took.
    photo
        RGB (H, W, 3), the same view as that of the results.
    greet
        Called with the address while the results are still being prepared: a browser that opens it
        has enough to do by itself.
    """
    viser = library("viser", "the page", "viewer")
    check_address(host)
    with redirect_stdout(StringIO()):  # it greets with addresses in a frame, asked or not
        server = viser.ViserServer(host=host, port=port, label="rayrelief", verbose=False)
    try:
        shown = "localhost" if host in ("127.0.0.1", "0.0.0.0") else host
        address = f"http://{shown}:{server.get_port()}"
        greet(address)
        # The browser loads the page meanwhile.
        from rayrelief.viewer.page.controls import Controls
        from rayrelief.viewer.page.stage import Stage

        with TemporaryDirectory(prefix="rayrelief-view-") as folder:
            server.gui.configure_theme(show_logo=False, show_share_button=False)
            server.gui.main_panel.dock_right()
            stage = Stage(server, seats=len(results))

            @server.on_client_connect
            def _(client: Any) -> None:
                client.camera.on_update(lambda _: stage.follow(client))
                stage.follow(client)  # it may have come before us

            controls = Controls(server, stage)
            for result in results:
                stage.add(result, photo)
            controls.refresh()
            # Who looks at a result does not wait for what makes new ones.
            from rayrelief.viewer.page.upload import Upload

            Upload(
                server,
                stage,
                Path(folder),
                largest=largest_upload,
                examine=examine,
                write=write,
                finished=controls.refresh,
                expanded=not results,
            )
            yield address
    finally:
        with redirect_stdout(StringIO()):
            server.stop()


def check_address(host: str) -> None:
    """Raise InputError unless an address is one of this machine: the server would wait for it."""
    try:
        (family, kind, _, _, address), *_ = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
        with socket.socket(family, kind) as listener:
            listener.bind(address)
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"the page cannot be served at {host!r}: {getattr(error, 'strerror', None) or error}",
            expected="an address of this machine",
            remedy="Leave --host out for this machine alone, or give 0.0.0.0 for all addresses",
        ) from error
