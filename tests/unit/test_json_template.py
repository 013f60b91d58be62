"""JSON texts that are filled in, whatever is around the places."""

from typing import Any

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from baremetal_sched.documents.json_template import Template, part, value

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
safe = st.text("0123456789abcdef-", max_size=36)


@given(names, names, safe, names)
@example('"', "\\", "0", "%s%%")
@example("{0}", "\0\\u0000", "", '"},{"')
def test_what_is_filled_in_is_where_it_was_left_out(around: str, key: str, filled_in: str, given_value: str) -> None:
    def document(inside: str, whole: Any) -> dict[str, Any]:
        path = f"{around}/{inside}/{key}/{inside}"
        return {f"key {key}": [path, whole, {inside: around}], f"of {inside}": whole, "around": around}

    texts = (filled_in, orjson.dumps(given_value).decode())
    made, expected = document(part(0), value(1)), document(filled_in, given_value)
    assert orjson.loads(Template(made).fill(*texts)) == expected
    assert orjson.loads(f"{{{Template(made, braces=False).fill(*texts)}}}") == expected


def test_a_key_and_a_number_are_values_too() -> None:
    assert Template({value(0): value(1)}).fill('"a"', "5") == '{"a":5}'
    assert Template({"a": [1]}).fill() == '{"a":[1]}'
