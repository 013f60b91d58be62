"""Providers as lines of text: all that the search and the answer want to know of them.

A driver takes longer to read a column than the database to find it, and thousands of providers are mostly made of the
same few texts: whoever reads them parses each text once.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

#: A provider: id, uuid (in quotes, as JSON has it), id of the parent, id of the root, inventories, traits; "" where
#: there is none. Traits are as in ``trait_ids``. Inventories have commas between them, and are of each class id,
#: capacity, used, min_unit, max_unit and step_size, with colons between these; who has the same has mostly the same
#: text, but the order is anybody's.
Line = list[str]


def parsed(texts: Iterable[str]) -> list[Line]:
    """What ``reading.line_of`` selected."""
    return [text.split(";") for text in texts]


class ByText(dict[str, T]):
    """What is made of texts, each once."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make

    def __missing__(self, text: str) -> T:
        value = self[text] = self._make(text)
        return value


def inventories(text: str) -> list[Sequence[str]]:
    """The parts of each inventory."""
    return [inventory.split(":") for inventory in text.split(",")] if text else []
