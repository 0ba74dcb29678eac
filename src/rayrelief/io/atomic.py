"""Files appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from rayrelief.errors import FileError


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place once the block has succeeded.

    The parent folder is created where it is missing. If the block raises anything (also
    KeyboardInterrupt) the temporary file is removed and ``path`` stays as it was.

    Parameters
    ----------
    path
        The file to write or to replace; a symbolic link is followed.

    Yields
    ------
    pathlib.Path
        A path that does not exist yet, in the same folder and with the same suffix.
    """
    path = Path(path)
    if path.is_dir():
        raise FileError(
            f"{path} is a folder",
            expected="the path of a file to write",
            remedy="Add a file name to it",
        )
    try:
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        # A name and not an open file: the writer creates it, with the permissions of the user.
        temporary = target.with_name(f".rayrelief-{secrets.token_hex(6)}{target.suffix}")
        try:
            yield temporary
            os.replace(temporary, target)
        finally:
            with contextlib.suppress(OSError):  # the first error is the one worth reporting
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: Path, error: OSError) -> FileError:
    """Say why ``path`` could not be written, and what to do about it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FileError(
            f"the disk was full while {path} was written ({free_space(path)})",
            expected="room for the whole file",
            remedy="Free some space or write to another disk; an existing file was not changed",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return FileError(
            f"{path} cannot be written: no permission",
            expected="a folder with write permission",
            remedy="Choose another folder, or change its permissions",
        )
    return FileError(
        f"{path} cannot be written: {error.strerror or error}",
        expected="a path that can be created or replaced",
        remedy="Check the path, or choose another one",
    )


def free_space(path: Path) -> str:
    """Free space of the disk that holds ``path``, in words."""
    folder = next(folder for folder in path.absolute().parents if folder.is_dir())
    return f"{shutil.disk_usage(folder).free / 1e6:,.1f} MB free"
