"""INSERT of rows that may be there already, in the three dialects."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Table, insert
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session


def insert_missing(session: Session, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert those of ``rows`` that violate no unique key; the others are there already and stay as they are."""
    if not rows:
        return
    match session.get_bind().dialect.name:
        case "sqlite":
            session.execute(sqlite.insert(table).on_conflict_do_nothing(), rows)
        case "postgresql":
            session.execute(postgresql.insert(table).on_conflict_do_nothing(), rows)
        case _:
            session.execute(insert(table).prefix_with("IGNORE"), rows)
