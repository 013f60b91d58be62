"""Looking at the database itself while clients write."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.engine import database_url as normal_url
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import DatabaseAway
from baremetal_sched.settings import load
from tests.fault.troubles import repeated

#: Machines with more than one consumer, counting all that is below the node's provider.
DOUBLY_HELD = """
SELECT root.uuid, COUNT(DISTINCT a.consumer_id) FROM allocations a
JOIN resource_providers p ON p.id = a.provider_id JOIN resource_providers root ON root.id = p.root_id
WHERE root.mirrored_class_id IS NOT NULL GROUP BY root.uuid HAVING COUNT(DISTINCT a.consumer_id) > 1
"""


class Watch:
    """Looks again and again: what one of ``queries`` selects is wrong, and so is what the audit finds."""

    def __init__(self, url: str, queries: Sequence[str]) -> None:
        self.findings: list[str] = []
        self.looks = 0
        self._queries = queries
        self._engine = create_engine(normal_url(url), pool_pre_ping=True)
        self._database = Database(load(overrides={"database": {"connection": url}}))

    def close(self) -> None:
        """Close its connections."""
        self._engine.dispose()
        self._database.dispose()

    def look(self) -> None:
        """See who holds what, and audit from time to time. The database may be away."""
        with suppress(DBAPIError, DatabaseAway):
            with self._engine.connect() as connection:
                for query in self._queries:
                    found = connection.execute(text(query)).all()
                    connection.rollback()
                    self.findings += [f"{' '.join(query.split()[:4])}: {row}" for row in found]
            if self.looks % 10 == 0:
                self.findings += self._database.snapshot(audit)
            self.looks += 1


@contextmanager
def watched(url: str, *queries: str) -> Iterator[Watch]:
    """While it looks."""
    watch = Watch(url, queries)
    try:
        with repeated(watch.look, 0.05):
            yield watch
    finally:
        watch.close()
