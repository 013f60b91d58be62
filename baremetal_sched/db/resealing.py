"""Secrets in existing rows: counting, encrypting, decrypting, and re-encrypting with another key.

The service may be running. A value is replaced only if it is unchanged since it was read; the service encrypts what it
changes. Each batch is a transaction of its own, so an interrupted run can simply be repeated.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, String, Table, and_, select, tuple_, type_coerce, update

from baremetal_sched.db.keyring import CannotDecrypt, Keyring
from baremetal_sched.db.models import Base
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.sealing import (
    SealedByItsWriter,
    SealedJson,
    SealedText,
    is_sealed,
    is_sealed_text,
    key_of,
    keyring_for,
    opened,
    plain_text,
    sealed_again,
    sealed_text,
    text_of,
)
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import DocumentTooLarge
from baremetal_sched.masking import names_secret

#: Number of rows examined in a transaction.
BATCH = 50

#: The state of a value: without secrets, with plain secrets, encrypted with the first key, with another key of the
#: file, or with a missing key.
NONE, PLAIN, FIRST, OTHER, UNKNOWN = "without secrets", "not encrypted", "first key", "other keys", "missing keys"

#: Converts a value: returns the new one, or None to keep it.
_Change = Callable[["Value", Keyring], str | None]


class Value(NamedTuple):
    """A value that may have secrets: its place, and the stored text."""

    column: Column[Any]
    key: tuple[Any, ...]
    text: str

    @property
    def is_encrypted(self) -> bool:
        """Return whether the value is encrypted."""
        return is_sealed(self.text) if isinstance(self.column.type, SealedJson) else is_sealed_text(self.text)

    @property
    def has_secrets(self) -> bool:
        """Return whether the value has unencrypted secrets."""
        if isinstance(self.column.type, SealedJson):
            return self.column.type.shown(json.loads(self.text), self.text) != self.text
        if isinstance(self.column.type, SealedText) and self.column.type.whole:
            return True
        # Names of BIOS settings are in their keys.
        return any(isinstance(part, str) and names_secret(part) for part in self.key)

    def sealed(self, keyring: Keyring) -> str:
        """Return the encrypted form of a value with plain secrets. Raises DocumentTooLarge."""
        if isinstance(self.column.type, SealedJson):
            return self.column.type.sealed(json.loads(self.text), self.text, keyring)
        return sealed_text(text_of(self.text), keyring)

    def opened(self, keyring: Keyring) -> str:
        """Return the plain form of an encrypted value. Raises CannotDecrypt."""
        text = opened(self.text, keyring)
        return text if isinstance(self.column.type, SealedJson) else plain_text(text)


class ResealOutcome(NamedTuple):
    """Numbers of values that were changed, that the service changed first, and that could not be changed."""

    changed: int
    missed: int
    failed: int


def columns() -> list[Column[Any]]:
    """All columns that may have secrets."""
    found = (column for table in Base.metadata.sorted_tables for column in table.columns)
    return [column for column in found if isinstance(column.type, SealedJson | SealedText)]


def count(database: Database) -> dict[str, Counter[str]]:
    """Return the number of values of each column (``nodes.driver_info``) by state. Raises DatabaseAway."""
    keyring = keyring_for(database.engine.dialect)
    found: dict[str, Counter[str]] = {}
    for column in columns():
        counter = found[f"{column.table.name}.{column.name}"] = Counter()
        for batch in _batches(database, column):
            counter.update(_state(value, keyring) for value in batch)
    return found


def encrypted(value: Value, keyring: Keyring) -> str | None:
    """Encrypt plain secrets."""
    return value.sealed(keyring) if not value.is_encrypted and value.has_secrets else None


def rotated(value: Value, keyring: Keyring) -> str | None:
    """Re-encrypt with the first key all values that are encrypted with another key of the file."""
    is_other = value.is_encrypted and key_of(value.text) != keyring.first
    return sealed_again(value.text, keyring) if is_other else None


def decrypted(value: Value, keyring: Keyring) -> str | None:
    """Decrypt all encrypted values, except those that are never stored plain."""
    is_always = isinstance(value.column.type, SealedByItsWriter)
    return value.opened(keyring) if value.is_encrypted and not is_always else None


def reseal(database: Database, change: _Change) -> ResealOutcome:
    """Apply ``encrypted``, ``rotated`` or ``decrypted`` to all values. Raises DatabaseAway."""
    keyring = keyring_for(database.engine.dialect)
    changed = missed = failed = 0
    for column in columns():
        for batch in _batches(database, column):
            wanted: list[tuple[Value, str]] = []
            for value in batch:
                try:
                    text = change(value, keyring)
                except (CannotDecrypt, DocumentTooLarge):
                    failed += 1
                    continue
                if text is not None and text != value.text:
                    wanted.append((value, text))
            if wanted:
                done = database.change(lambda connection, wanted=wanted: _replace(connection, wanted))  # type: ignore[misc]
                changed += done
                missed += len(wanted) - done
    return ResealOutcome(changed, missed, failed)


def _replace(connection: Connection, wanted: list[tuple[Value, str]]) -> int:
    """UPDATE nodes SET driver_info = :new WHERE id = :id AND driver_info = :old, for each; return the number of changed
    rows."""
    done = 0
    for value, text in wanted:
        table: Table = value.column.table
        stored = type_coerce(value.column, String())
        same = and_(*(own == part for own, part in zip(table.primary_key, value.key, strict=True)))
        statement = update(table).where(same, stored == value.text).values({value.column: type_coerce(text, String())})
        done += rows_changed(connection.execute(statement))
    return done


def _batches(database: Database, column: Column[Any]) -> Iterator[list[Value]]:
    """Yield all values of a column that are not NULL, by the keys of their rows."""
    key = tuple(column.table.primary_key)
    query = select(*key, type_coerce(column, String())).where(column.is_not(None)).order_by(*key).limit(BATCH)
    last: tuple[Any, ...] | None = None
    while True:
        part = query if last is None else query.where(tuple_(*key) > tuple_(*last))
        rows = database.select(lambda connection, part=part: connection.execute(part).all())  # type: ignore[misc]
        if not rows:
            return
        values = [Value(column, tuple(row[:-1]), row[-1]) for row in rows]
        yield values
        last = values[-1].key


def _state(value: Value, keyring: Keyring) -> str:
    if value.is_encrypted:
        key_id = key_of(value.text)
        return FIRST if key_id == keyring.first else OTHER if key_id in keyring.ids else UNKNOWN
    return PLAIN if value.has_secrets else NONE
