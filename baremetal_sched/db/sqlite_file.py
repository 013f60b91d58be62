"""The file of a SQLite database, readable only by its owner, as it holds passwords."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy.engine import URL

log = structlog.get_logger(__name__)

_PRIVATE = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO

#: Files for which a warning was logged.
_warned: set[str] = set()


def make_private(url: URL, *_: Any) -> None:
    """Create a missing database file, readable only by its owner; SQLite gives its other files the same mode.
    (A listener of SQLAlchemy's event ``do_connect``.)

    An existing file that others can read is left unchanged; a warning is logged once.
    """
    if not url.database or "uri" in url.query:
        return
    path = Path(url.database).resolve()
    # If it cannot be created, SQLite fails, too, and reports it.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE))
        return
    with suppress(OSError):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & _OTHERS and str(path) not in _warned:
            _warned.add(str(path))
            log.warning(
                "other users of this machine can read the database, which holds passwords; run chmod 600",
                file=str(path),
                mode=f"{mode:04o}",
            )
