"""The clock of the database, as statements see it: it can be set."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from baremetal_sched.db import prepared
from baremetal_sched.db.transaction import Database

#: How the dialects ask for the time.
_NOW = re.compile(r"julianday\('now'\)|(?:clock|statement)_timestamp\(\)|UNIX_TIMESTAMP\((?:NOW|SYSDATE)\(6\)\)")
#: The whole expression of SQLite, see ``db.clock.epoch``.
_SQLITE = "((julianday('now') - 2440587.5) * 86400.0)"


class SettableClock:
    """``ahead``: by how many seconds it is ahead of the real one. ``stopped_at`` (seconds since 1970): the moment at
    which it stands, until it is set; None: it goes on."""

    ahead = 0.0
    stopped_at: float | None = None

    def step(self, seconds: float) -> None:
        """Set the clock forward, or back."""
        self.ahead += seconds
        self.stopped_at = None if self.stopped_at is None else self.stopped_at + seconds

    def rewrite(
        self, connection: Any, cursor: Any, text: str, parameters: Any, context: Any, is_many: bool
    ) -> tuple[str, Any]:
        if self.stopped_at is not None:  # exactly: the detour by days costs microseconds
            text = text.replace(_SQLITE, f"({self.stopped_at!r})")
        changed = self._stopped if self.stopped_at is not None else self._shifted if self.ahead else None
        return text if changed is None else _NOW.sub(changed, text), parameters

    def _stopped(self, found: re.Match[str]) -> str:
        now = found[0]
        if now.startswith("julianday"):
            return f"({self.stopped_at} / 86400.0 + 2440587.5)"
        return f"({self.stopped_at})" if now.startswith("UNIX") else f"to_timestamp({self.stopped_at})"

    def _shifted(self, found: re.Match[str]) -> str:
        now = found[0]
        if now.startswith("julianday"):
            return f"({now} + {self.ahead} / 86400.0)"
        return f"({now} + {self.ahead})" if now.startswith("UNIX") else f"({now} + interval '{self.ahead} seconds')"


@contextmanager
def settable(database: Database) -> Iterator[SettableClock]:
    """Let statements that go through SQLAlchemy's engines see a clock that the test sets."""
    clock, engines = SettableClock(), {database.engine, database.reading_engine}
    with pytest.MonkeyPatch.context() as patch:
        # A prepared statement has the clock in it that it was prepared with.
        patch.setattr(prepared._Statements, "call", lambda _, cursor, statement: statement)
        for engine in engines:
            event.listen(engine, "before_cursor_execute", clock.rewrite, retval=True)
        try:
            yield clock
        finally:
            for engine in engines:
                event.remove(engine, "before_cursor_execute", clock.rewrite)
