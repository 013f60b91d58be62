"""A small file that is read at the start, and again whenever it has changed."""

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import structlog
from oslo_config import cfg

log = structlog.get_logger(__name__)

T = TypeVar("T")

#: A file changed more recently than this may change again without a new time stamp.
_SETTLED_AFTER_NANOSECONDS = 1_000_000_000

_Stamp = tuple[int, ...]


def _accept(status: os.stat_result) -> None:
    """Accept any file."""


class WatchedFile(Generic[T]):
    """The parsed contents of the file at ``path``; ``what`` is its name in messages.

    ``parse`` raises ValueError for invalid text, ``check`` for a file that must not be used. If a changed file is
    invalid or can no longer be read, its previous contents stay in use, which is logged.
    """

    def __init__(
        self,
        path: Path,
        parse: Callable[[str], T],
        what: str,
        check: Callable[[os.stat_result], None] = _accept,
    ) -> None:
        """Read the file. Raises oslo.config's ``cfg.Error`` if it cannot be read, or is not valid."""
        self.path = path
        self._parse = parse
        self.what = what
        self._check = check
        self._lock = threading.Lock()
        self._contents: T
        self._stamp: _Stamp | None = None  # None: must be read
        self._refused: _Stamp | None = None
        #: Whether the file could not be read the last time.
        self.is_lost = False
        try:
            with path.open("rb") as file:
                self._read(file)
        except (OSError, ValueError) as error:
            raise cfg.Error(f"{what} {path} cannot be used: {_reason(error)}") from None
        if path.stat().st_mode & stat.S_IRWXO:
            log.warning(
                f"{what} may be read or written by other users of this machine; chmod o= forbids that", file=str(path)
            )

    def contents(self) -> T:
        """Return the current contents."""
        try:
            if self._stamp != _stamp(self.path.stat()):
                with self._lock, self.path.open("rb") as file:
                    self._read_again(file)
            self.is_lost = False
        except OSError as error:
            if not self.is_lost:
                log.error(f"{self.what} cannot be read", file=str(self.path), reason=_reason(error))
            self.is_lost, self._stamp = True, None
        return self._contents

    def _read_again(self, file: BinaryIO) -> None:
        stamp = _stamp(os.fstat(file.fileno()))
        try:
            self._read(file)
        except ValueError as error:
            if stamp != self._refused:
                log.error(
                    f"{self.what} is no longer valid; its previous contents stay in use",
                    file=str(self.path),
                    reason=_reason(error),
                )
            self._refused = stamp

    def _read(self, file: BinaryIO) -> None:
        status = os.fstat(file.fileno())
        age = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
        try:
            self._check(status)
            self._contents = self._parse(file.read().decode())
        finally:
            self._stamp = _stamp(status) if age > _SETTLED_AFTER_NANOSECONDS else None


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
