"""A pipe by which the processes of one service wake its conductor."""

import os
from contextlib import suppress
from multiprocessing.connection import wait


class WakePipe:
    """A pipe that the process makes which forks the others: each of them has both ends.

    Nothing is said but that there is work: the woken thread looks into the database. A byte that is lost, as its reader
    has died, is made up for by the next look, which comes by time.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    def wake(self) -> None:
        """Wake the process that waits, now or when it waits next."""
        with suppress(BlockingIOError):  # then there is already something to read
            os.write(self._write, b"\0")

    def wait(self, seconds: float) -> bool:
        """Wait until ``wake`` is called, at most for ``seconds``; return whether it was."""
        return bool(wait([self._read], seconds) and os.read(self._read, 4096))
