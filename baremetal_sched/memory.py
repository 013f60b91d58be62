"""Settings of the C library's memory allocator: few arenas, and early return of free memory."""

import ctypes
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

#: Option of glibc's ``mallopt``.
_M_ARENA_MAX = -8
_ARENAS = 2

#: Seconds between two returns of free memory, and the minimum growth of a process since its start, in bytes.
_INTERVAL = 30.0
_GROWTH = 32 * 2**20

_STATM = Path("/proc/self/statm")


def limit_memory() -> None:
    """Let all threads allocate from the same few arenas, and return free memory to the system while the process runs.

    Call in each process before its threads are started. Other C libraries than glibc are left alone.
    """
    _limit_arenas()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None and _STATM.exists():
        threading.Thread(target=_trim_again_and_again, args=(trim,), name="memory", daemon=True).start()


def _limit_arenas() -> None:
    """Set the number of arenas, unless the operator has set it in the environment.

    By default, glibc gives each thread its own arena, which keeps the memory of its largest request: a process of eight
    threads grew by 200 MB.
    """
    if "MALLOC_ARENA_MAX" in os.environ or "arena_max" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _ARENAS)


def _trim_again_and_again(trim: Callable[[int], object]) -> None:
    """Return free pages to the system periodically while the process is larger than at its start.

    glibc does so only at the end of an arena: after an hour of large and small requests, half of a process was free
    memory between blocks in use.
    """
    at_start = resident()
    while True:
        time.sleep(_INTERVAL)
        if resident() - at_start > _GROWTH:
            trim(0)


def resident() -> int:
    """Return the resident size of the process in bytes."""
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
