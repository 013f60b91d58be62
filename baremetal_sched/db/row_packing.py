"""Many rows in one value, as lines of text: for long lists.

A Python driver takes longer to read a row and each of its columns than the database needs to find it. PyMySQL gains
most; drivers written in C need no packing. ``select(packed(id, text)).group_by(packet(id))``, and ``lines`` of the
result.
"""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, SQLColumnExpression, literal_column

from baremetal_sched.db.sql_functions import as_digits, concat, string_agg

#: Number of consecutive ids whose rows share a value, as a power of 2.
_BITS = 6

#: Added to the id at the start of a line, so that all have the same number of digits and sort like the ids.
_BASE = 10**10
_DIGITS = len(str(_BASE))


def packed(row_id: SQLColumnExpression[int], text: SQLColumnExpression[str]) -> ColumnElement[str]:
    """Return ``text``, which has no line break and is not NULL, of all rows of a packet."""
    return string_agg(concat(as_digits(row_id + literal_column(str(_BASE))), text), "\n")


def packet(row_id: SQLColumnExpression[int], bits: int = _BITS) -> ColumnElement[int]:
    """Return the expression to group rows by: ids that differ only in the last ``bits`` share a packet."""
    return row_id.bitwise_rshift(literal_column(str(bits)))


def lines(packets: Iterable[str]) -> list[str]:
    """Return the packed texts, ordered by the ids of their rows."""
    numbered = [line for packet in packets for line in packet.split("\n")]
    numbered.sort()
    return [line[_DIGITS:] for line in numbered]
