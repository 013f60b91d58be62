"""Request bodies: valid JSON, its depth, and texts that no column can hold."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baremetal_sched.web.body import parse_json
from baremetal_sched.web.http_errors import BadRequest, BodyTooDeep


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


def test_depth_is_limited() -> None:
    assert parse_json(nested(25), 25)
    with pytest.raises(BodyTooDeep):
        parse_json(nested(26), 25)


def test_absurd_depth_is_only_too_deep() -> None:
    with pytest.raises((BodyTooDeep, ValueError)):
        parse_json(b"[" * 100_000 + b"]" * 100_000, 25)


def test_what_is_no_json(subtests: pytest.Subtests) -> None:
    for raw in [b"", b"{", b"{bad", b"<a/>", b'{"a": NaN}', b"[Infinity]", b"[1e999]", b"\xff\xfe", b"\xef\xbb\xbf{}"]:
        with subtests.test(raw=raw), pytest.raises(ValueError):
            parse_json(raw, 25)


def test_json_is_utf_8(subtests: pytest.Subtests) -> None:
    for encoding in ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1"]:
        with subtests.test(encoding=encoding), pytest.raises(ValueError):
            parse_json('{"a": "ä"}'.encode(encoding), 25)


def test_characters_that_cannot_be_stored(subtests: pytest.Subtests) -> None:
    for raw in [rb'{"a": "x\u0000"}', rb'{"a\u0000": 1}', rb'[["\ud800"]]']:
        with subtests.test(raw=raw), pytest.raises(BadRequest):
            parse_json(raw, 25)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
        lambda children: (
            st.lists(children) | st.dictionaries(st.text(st.characters(codec="ascii", min_codepoint=32)), children)
        ),
        max_leaves=20,
    )
)
def test_any_json_comes_through_unchanged(document: Any) -> None:
    assert parse_json(json.dumps(document).encode(), 100) == document
