"""The bytes of all request bodies that a process has received and not yet served."""

import threading


class Bodies:
    """A sum, changed by the thread of the loop and by request threads."""

    def __init__(self) -> None:
        self.size = 0
        self._lock = threading.Lock()

    def add(self, size: int) -> None:
        """Add ``size`` bytes; negative: forget as many."""
        with self._lock:
            self.size += size
