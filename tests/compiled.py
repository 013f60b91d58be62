"""Statements are compiled once in a process, as they are in production, and not again for the engines of each test.

SQLAlchemy compiles a statement once for each engine and dialect. A test has engines of its own, so a third of the time
of all tests would be spent on compiling what was compiled for the test before.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

from baremetal_sched.db import engine

#: More than the statements of any test: a request has a few.
_STATEMENTS = 2000


@contextmanager
def shared() -> Iterator[None]:
    """Engines of the same kind of database, with the same keys for secrets, share what is compiled."""
    statements: LRUCache[Any, Any] = LRUCache(_STATEMENTS)
    create_engine = engine.create_engine

    def create(*arguments: Any, **named: Any) -> Any:
        created = create_engine(*arguments, **named)
        created._compiled_cache = statements
        return created

    def is_alike(dialect: DefaultDialect, other: object) -> bool:
        return isinstance(other, DefaultDialect) and _kind(dialect) == _kind(other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "create_engine", create)
        # A dialect is a part of the key by which a compiled statement is found, here and in our own caches.
        patch.setattr(DefaultDialect, "__eq__", is_alike)
        patch.setattr(DefaultDialect, "__hash__", lambda dialect: hash(_kind(dialect)))
        yield


def _kind(dialect: Any) -> Any:
    """The dependencies of compiled statements. Dialects that are not of our engines are like no other."""
    keyring = getattr(dialect, "secrets_keyring", None)
    if keyring is None:
        return id(dialect)
    version = getattr(dialect, "server_version_info", None)
    return type(dialect), version, getattr(dialect, "is_mariadb", None), id(keyring), dialect.seals_secrets
