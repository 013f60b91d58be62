"""Documents, numbers and texts that are larger, deeper or stranger than those of any client."""

import json
from typing import Any

from hypothesis import strategies as st

from tests.functional.fuzz.words import mostly

#: Stand for numbers in a document, which Python itself would not write: ``encoded`` puts their digits there.
_DIGITS = {"@digits@": b"9" * 5000, "@negative@": b"-" + b"7" * 4301, "@exponent@": b"1e9999", "@long@": b"8" * 4300}

#: Around the depths that a body and a stored document may have, and far beyond.
DEPTHS = (1, 24, 25, 26, 97, 98, 99, 100, 101, 102, 254, 255, 600)

NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**64)),
    *(0.5, -0.0, 1e-320, 1.7e308, True, None, "1", *_DIGITS),
)

TEXTS = (
    *("", "\x00", "a\x00b", "\ud800", "\udfff\ud800", "\u202eevil\u202c", "\u200f\u05d0", "\ufeff", "\u2028"),
    *("e\u0301" * 100, "\U0001f4a5" * 300, "\x7f\x1b[31m", "\r\nX-Header: 1", "%n%s%(a)s", "{node.uuid}", "{{}}", "{"),
    *("'; DROP TABLE nodes; --", "\\", "\\u0000", '"' * 500, "../../etc/passwd", "a" * 255, "a" * 256, "x" * 20_000),
    *("CUSTOM_" + "X" * 248, "CUSTOM_" + "X" * 249, "١٢٣", "1_000", "0x10", "∞", "ﬁ", "K", "İ"),
)


def nested(levels: int, kind: str, leaf: Any) -> Any:
    """A document of this many levels: objects, arrays, or both in turn."""
    for level in range(levels):
        leaf = [leaf] if kind == "array" or (kind == "both" and level % 2) else {"a": leaf}
    return leaf


numbers = st.sampled_from(NUMBERS)
texts = st.sampled_from(TEXTS)
#: Values that a service may well accept; they reach the database, where the odd ones do not.
_ACCEPTABLE = st.sampled_from([0, 1, 2**63, -(2**64), 0.5, "text", "\u202eevil", "💥" * 300, "x" * 20_000, None, True])
_leaves = mostly(_ACCEPTABLE, numbers | texts)
_depths = mostly(st.sampled_from([1, 5, 24, 90, 95]), st.sampled_from(DEPTHS))
deep = st.builds(nested, _depths, st.sampled_from(["object", "array", "both"]), _leaves)
deep_objects = deep.map(lambda document: document if isinstance(document, dict) else {"a": document})


@st.composite
def wide(draw: st.DrawFn) -> dict[str, Any]:
    """An object with many members, or with large ones; their names are other ones each time."""
    count, size = draw(st.sampled_from([(3, 20_000), (50, 300), (1000, 10), (4000, 1), (2, 300_000)]))
    start, value = draw(st.integers(0, 10**6)), draw(_leaves)
    stem = draw(st.sampled_from(["k", "password_", "é", "n" * 200]))
    filler = "v" * size
    return {f"{stem}{start + number}": filler if number % 2 else value for number in range(count)}


documents = deep | wide() | _leaves
objects = deep_objects | wide()


def encoded(document: Any) -> bytes:
    """The document as JSON, with the digits that no JSON library writes."""
    body = json.dumps(document).encode()
    for mark, digits in _DIGITS.items():
        body = body.replace(json.dumps(mark).encode(), digits)
    return body
