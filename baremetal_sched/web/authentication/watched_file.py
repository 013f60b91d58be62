"""A small file that is read at the start, and again whenever it has changed."""

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import structlog
from oslo_config import cfg

from baremetal_sched.errors import AuthenticationUnavailable

log = structlog.get_logger(__name__)

T = TypeVar("T")

#: A file changed more recently than this may change again without a new time stamp.
_SETTLED_AFTER_NANOSECONDS = 1_000_000_000

_Stamp = tuple[int, int, int, int]


class WatchedFile(Generic[T]):
    """The parsed contents of the file at ``path``; ``what`` is its name in messages.

    ``parse`` raises ValueError for invalid text. If a changed file is invalid, its previous contents stay in use, which
    is logged. A file that can no longer be read has no contents.
    """

    def __init__(self, path: Path, parse: Callable[[str], T], what: str) -> None:
        """Read the file. Raises oslo.config's ``cfg.Error`` if it cannot be read, or is not valid."""
        self.path = path
        self._parse = parse
        self._what = what
        self._lock = threading.Lock()
        self._stamp: _Stamp | None = None  # None: must be read
        self._refused: _Stamp | None = None
        self._is_lost = False
        try:
            stamp, is_settled, content = self._read()
            self._contents = parse(content.decode())
        except (OSError, ValueError) as error:
            raise cfg.Error(f"{what} {path} cannot be used: {_reason(error)}") from None
        self._stamp = stamp if is_settled else None
        if path.stat().st_mode & stat.S_IRWXO:
            log.warning(
                f"{what} may be read or written by other users of this machine; chmod o= forbids that", file=str(path)
            )

    def contents(self) -> T:
        """Return the current contents. Raises AuthenticationUnavailable if the file cannot be read."""
        try:
            if self._stamp != _stamp(self.path.stat()):
                with self._lock:
                    self._read_again()
        except OSError as error:
            if not self._is_lost:
                log.error(f"{self._what} cannot be read", file=str(self.path), reason=_reason(error))
            self._is_lost, self._stamp = True, None
            raise AuthenticationUnavailable(reason=f"{self._what} cannot be read") from None
        return self._contents

    def _read_again(self) -> None:
        stamp, is_settled, content = self._read()
        try:
            self._contents = self._parse(content.decode())
        except ValueError as error:
            if stamp != self._refused:
                log.error(
                    f"{self._what} is no longer valid; its previous contents stay in use",
                    file=str(self.path),
                    reason=_reason(error),
                )
            self._refused = stamp
        self._is_lost, self._stamp = False, stamp if is_settled else None

    def _read(self) -> tuple[_Stamp, bool, bytes]:
        """Return the file's stamp, whether another change would change the stamp, and the data."""
        with self.path.open("rb") as file:
            status = os.fstat(file.fileno())
            age = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
            return _stamp(status), age > _SETTLED_AFTER_NANOSECONDS, file.read()


def _stamp(status: os.stat_result) -> _Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
