"""A pipe by which the processes of one service wake its conductor."""

import os
from contextlib import suppress
from multiprocessing.connection import wait

#: Bytes that are read at once.
_MANY = 4096


class WakePipe:
    """A pipe that the process makes which forks the others: each of them has both ends."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        for end in (self._read, self._write):
            os.set_blocking(end, False)

    def wake(self) -> None:
        """Wake the process that waits, now or when it waits next."""
        with suppress(BlockingIOError):  # then there is already something to read
            os.write(self._write, b"\0")

    def wait(self, seconds: float) -> bool:
        """Wait until ``wake`` is called, at most for ``seconds``; return whether it was."""
        is_woken = bool(wait([self._read], seconds))
        if is_woken:
            os.read(self._read, _MANY)
        return is_woken

    def close(self) -> None:
        """Close both ends in this process."""
        os.close(self._read)
        os.close(self._write)
