"""Whether statements of a database are waiting for locks now, as the database itself says."""

from types import TracebackType
from typing import Self

from sqlalchemy import create_engine, text

from baremetal_sched.db.engine import database_url

_WAITING = {
    "postgresql": text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ),
    # INNODB_TRX, which knows whose they are, is up to a tenth of a second old.
    "mysql": text(
        "SELECT variable_value FROM information_schema.global_status "
        "WHERE variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS'"
    ),
}

#: Seconds that a statement takes at least before it counts as waiting. On MariaDB the server's number includes other
#: databases: who only takes long is taken for one who waits then, which makes a run another one, and no run wrong.
_LEAST = {"postgresql": 0.0, "mysql": 0.02}


class LockWaits:
    """A connection that asks how many statements are waiting for locks."""

    def __init__(self, url: str) -> None:
        self._engine = create_engine(database_url(url), isolation_level="AUTOCOMMIT", pool_size=1)
        self._connection = self._engine.connect()
        name = "postgresql" if self._engine.dialect.name == "postgresql" else "mysql"
        self._query, self.least = _WAITING[name], _LEAST[name]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._engine.dispose()

    def count(self) -> int:
        """Return how many statements wait."""
        return int(self._connection.scalar(self._query) or 0)
