"""Values for requests: intended ones, mistakes, and nonsense."""

import re
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.worlds import INT32

#: Texts that have been trouble somewhere.
ODD_TEXTS = (
    *(
        "",
        " ",
        "0",
        "-1",
        "null",
        "None",
        "true",
        "{}",
        "[]",
        "in:",
        "!",
        "in:CUSTOM_A,",
        "!in:CUSTOM_A",
        "a,b",
        ",",
        ":",
    ),
    *(
        "..",
        "/",
        "%",
        "%s",
        "%00",
        "\x00",
        "\ud800",
        "é",
        "💥",
        "' OR 1=1 --",
        "a" * 256,
        "A" * 5000,
        "CUSTOM_" + "X" * 250,
    ),
    *("1e400", "NaN", "-Infinity", "99999999999999999999", "2026-01-31T12:00:00", "name\n", "a.json"),
)
ODD_NUMBERS = (0, 1, -1, 2, 1000, INT32, INT32 + 1, 2**63, 2**64, -(2**63) - 1, 1.5, -0.0, 1e308, 10**400)

odd_values = st.recursive(
    st.none() | st.booleans() | st.sampled_from(ODD_NUMBERS) | st.sampled_from(ODD_TEXTS) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(ODD_TEXTS) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


class Words:
    """Values by what they are called: ``known`` has lists of what exists, by the names of parameters and fields."""

    def __init__(self, known: Mapping[str, list[str]]) -> None:
        self.known = known
        self._anything = st.sampled_from(sorted({word for words in known.values() for word in words}))

    def text(self, name: str, entry: Mapping[str, Any] | None = None) -> st.SearchStrategy[str]:
        """A text for what is called ``name``; ``entry`` is what the reference says of it."""
        likely = [*self.known.get(name, ()), *re.findall(r"``([^`]+)``", (entry or {}).get("description", ""))]
        odd = self._anything | st.sampled_from(ODD_TEXTS)
        return mostly(st.sampled_from(likely), odd) if likely else mostly(self._anything, odd)

    def value(self, name: str, entry: Mapping[str, Any]) -> st.SearchStrategy[Any]:
        """A JSON value for a field."""
        text = self.text(name, entry)
        fitting: st.SearchStrategy[Any] = text
        match entry["type"]:
            case "boolean":
                fitting = st.booleans()
            case "integer" | "number":
                fitting = st.integers(0, 9) | st.sampled_from(ODD_NUMBERS)
            case "array":
                fitting = st.lists(text | self._object(), max_size=3)
            case "object":
                fitting = self._object()
        return mostly(fitting, odd_values)

    def _object(self) -> st.SearchStrategy[Any]:
        names = self._anything | st.sampled_from(sorted(self.known))
        leaf = st.dictionaries(names, self._anything | st.integers(0, 9) | odd_values, max_size=3)
        return leaf | st.dictionaries(names, leaf, max_size=2)


def mostly(likely: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Three times in four ``likely``."""
    return st.integers(0, 3).flatmap(lambda number: odd if number == 3 else likely)
