"""Files appear whole or not at all, also several of them."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from rayrelief.errors import FileError
from rayrelief.io.sources import NOT_FILES, as_path

# Of a machine, of the process there with this number, and of no other with the same number.
TEMPORARY = re.compile(r"\.rayrelief-([0-9a-f]{8})-(\d+)-([0-9a-f]{8})-[0-9a-f]{8}(\..*)?")
MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
OWN = secrets.token_hex(4)
ABANDONED = 86400.0  # seconds after which a file of another machine is no longer being written
CLOCKS = 3600.0  # seconds that the clock of a file server may be behind the one here


class Batch:
    """Files that are written one by one and take their places together.

    At any time the places hold files of one batch only, and the last file of it only beside all
    others: first the files that are to be replaced are removed, the last one before all others.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Path, Path]] = []

    def add(self, temporary: Path, target: Path) -> None:
        """Add a file that has been written and waits for its place."""
        self._waiting.append((temporary, target))

    def commit(self, folder: Path) -> None:
        """Move all files to their places in a folder; other batches wait for their turn."""
        with locked(folder):
            for place in {folder, *(target.parent for _, target in self._waiting)}:
                discard_leftovers(place)
            for _, target in reversed(self._waiting):
                _move(None, target)
            for temporary, target in self._waiting:
                _move(temporary, target)
        self._waiting.clear()

    def discard(self) -> None:
        """Remove the files that have not taken their places."""
        for temporary, _ in self._waiting:
            _remove(temporary)


_BATCH: ContextVar[Batch | None] = ContextVar("batch", default=None)


@contextlib.contextmanager
def together() -> Iterator[Batch]:
    """Hold back the files that are written in this context until their batch is committed."""
    batch = Batch()
    token = _BATCH.set(batch)
    try:
        yield batch
    finally:
        _BATCH.reset(token)
        batch.discard()


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place once the block has succeeded.

    The parent folder is created where it is missing. If the block raises anything (also
    KeyboardInterrupt) the temporary file is removed and ``path`` stays as it was.

    Parameters
    ----------
    path
        The file to write or to replace, see ``target_of``.

    Yields
    ------
    pathlib.Path
        A path that does not exist yet, in the same folder and with the same suffix.
    """
    path = as_path(path)
    target = target_of(path)
    batch = _BATCH.get()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A name and not an open file: the writer creates it, with the permissions of the user.
        temporary = target.with_name(temporary_name(os.getpid()) + target.suffix)
        kept = False
        try:
            yield temporary
            if batch is None:
                os.replace(temporary, target)
            else:
                batch.add(temporary, target)
                kept = True
        finally:
            if not kept:
                _remove(temporary)
    except OSError as error:
        raise write_error(path, error) from error


def write_whole(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write bytes, or a text in UTF-8, whole or not at all."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)


def target_of(path: Path) -> Path:
    """Place that a file is written to; FileError where something else than a file would be lost.

    Links are followed on the way to the folder, and to another name in it, but not out of it.
    """
    try:
        target = Path(os.path.realpath(path))
        folder = Path(os.path.realpath(path.parent))
        mode = os.lstat(target).st_mode if os.path.lexists(target) else stat.S_IFREG
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise FileError(
            f"{path} cannot be written: {getattr(error, 'strerror', None) or error}",
            expected="a path that can be created or replaced",
            remedy="Check the path, or choose another one",
        ) from error
    if stat.S_ISDIR(mode):
        raise FileError(
            f"{path} is a folder",
            expected="the path of a file to write",
            remedy="Add a file name to it",
        )
    if not stat.S_ISREG(mode):
        raise FileError(
            f"{path} is {NOT_FILES.get(stat.S_IFMT(mode), 'not a file')}",
            expected="a regular file to replace, or none",
            remedy="Choose another path",
        )
    if target.parent != folder:
        raise FileError(
            f"{path} is a link to {target}, out of its folder",
            expected="a file to replace, or none",
            remedy="Remove the link, or give the path that it leads to",
        )
    return target


def temporary_name(process: int) -> str:
    """A name, without suffix, that a process may write to."""
    return f".rayrelief-{MACHINE}-{process}-{OWN}-{secrets.token_hex(4)}"


def discard_leftovers(folder: Path) -> None:
    """Remove the temporary files in a folder that nobody writes any more, as after a kill."""
    for name in os.listdir(folder) if folder.is_dir() else ():
        match = TEMPORARY.fullmatch(name)
        with contextlib.suppress(OSError):  # somebody else was faster
            if match and _is_left(match, os.stat(folder / name).st_mtime):
                _remove(folder / name)


def _is_left(name: re.Match[str], written: float) -> bool:
    """Whether a temporary file is that of a process which is no more."""
    import psutil

    machine, process, mark = name[1], int(name[2]), name[3]
    if machine != MACHINE:  # a shared folder: its processes cannot be seen from here
        return time.time() - written > ABANDONED
    if process == os.getpid():  # in a container every run may have the same number
        return mark != OWN
    try:  # elsewhere, too, numbers are given again
        return bool(psutil.Process(process).create_time() > written + CLOCKS)
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:  # it is there, and not ours to ask
        return False


def _move(temporary: Path | None, target: Path) -> None:
    """Move a file to its place, or make room there; FileError where the system refuses."""
    try:
        if temporary is None:
            target.unlink(missing_ok=True)
        else:
            os.replace(temporary, target)
    except OSError as error:
        raise write_error(target, error) from error


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # the first error is the one worth reporting
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a folder against others that ask for it, on systems that can; a kill releases it.

    Who does not wait for others has a FileError while they hold it.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise FileError(
                f"another run is writing to {folder}",
                expected="one run at a time",
                remedy="Wait for its end, or choose another -o",
            ) from error
        except OSError:
            pass  # of file systems that have no locks
        yield
    finally:
        os.close(descriptor)


def write_error(path: Path, error: OSError) -> FileError:
    """Say why ``path`` could not be written, and what to do about it."""
    unsaid = error.errno is None and " requested and " in str(error)  # NumPy tells only how much
    if error.errno in (errno.ENOSPC, errno.EDQUOT) or unsaid:
        return FileError(
            f"the disk was full while {path} was written ({free_space(path)})",
            expected="room for the whole file",
            remedy="Free some space or write to another disk; an existing file was not changed",
        )
    if error.errno == errno.EFBIG:
        return FileError(
            f"{path} became larger than its disk, or a limit of the system, lets a file be",
            expected="room for the whole file",
            remedy="Write to another disk or in a smaller format; an existing file was not changed",
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
