"""JSON PATCH: what is taken, what is refused, and that nothing of a patch that fails stays."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baremetal_sched.baremetal import patch
from baremetal_sched.errors import InvalidValue

DOCUMENT = {"extra": {"a": 1, "list": [1, 2]}, "name": None}
DEFAULTS = {"extra": {}, "name": None}


def op(kind: str, path: str, *value: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **({"value": value[0]} if value else {})}


@pytest.mark.parametrize(
    "body",
    [
        {"op": "add"},
        "x",
        None,
        [1],
        [{"path": "/extra", "value": 1}],
        [{"op": "add", "value": 1}],
        [op("add", "/extra/b", 1) | {"x": 1}],
        [op("test", "/extra/a", 1)],
        [{"op": "move", "from": "/extra/a", "path": "/extra/b"}],
        *(
            [op("add", path, 1)]
            for path in ("extra", "/", "", "/extra/", "/extra/a.b", "/extra/a b", "/extra//a", "/a\n")
        ),
        [op("add", "/extra/a~1b", 1)],
        [{"op": "add", "path": 5, "value": 1}],
    ],
)
def test_what_is_not_well_formed_is_refused(body: Any) -> None:
    with pytest.raises(InvalidValue):
        patch.parse(body, escapes=False)


def test_what_is_set_needs_a_value() -> None:
    patch.require_values(patch.parse([op("remove", "/extra/b"), op("add", "/extra/b", None)], escapes=False))
    for kind in ("add", "replace"):
        with pytest.raises(InvalidValue, match="does not contain a 'value' member"):
            patch.require_values(patch.parse([op(kind, "/extra/b")], escapes=False))


def test_escapes_are_taken_when_they_may() -> None:
    operations = patch.parse([op("add", "/extra/a~1b", 1)], escapes=True)
    assert patch.apply(DOCUMENT, operations, DEFAULTS)["extra"]["a/b"] == 1


@pytest.mark.parametrize(
    ("operations", "extra"),
    [
        ([op("add", "/extra/b", 2)], {"a": 1, "list": [1, 2], "b": 2}),
        ([op("replace", "/extra/a", 2)], {"a": 2, "list": [1, 2]}),
        ([op("remove", "/extra/a")], {"list": [1, 2]}),
        ([op("add", "/extra/list/-", 3)], {"a": 1, "list": [1, 2, 3]}),
        ([op("remove", "/extra")], {}),
        ([op("remove", "/extra"), op("add", "/extra/z", 1)], {"z": 1}),
        ([], DOCUMENT["extra"]),
    ],
)
def test_operations_are_applied_in_order(operations: patch.Patch, extra: dict[str, Any]) -> None:
    assert patch.apply(DOCUMENT, operations, DEFAULTS)["extra"] == extra
    assert DOCUMENT["extra"] == {"a": 1, "list": [1, 2]}
    assert DEFAULTS["extra"] == {}


@pytest.mark.parametrize(
    "operation",
    [
        op("replace", "/extra/none", 1),
        op("remove", "/extra/none"),
        op("add", "/extra/list/9", 1),
        op("add", "/name/x", 1),
    ],
)
def test_what_does_not_apply_names_the_operation(operation: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match=operation["path"]):
        patch.apply(DOCUMENT, [operation], DEFAULTS)


def test_only_some_fields_may_be_touched() -> None:
    patch.require_roots([op("add", "/extra/a", 1)], ("extra",))
    with pytest.raises(InvalidValue, match="Only the following can be updated: extra"):
        patch.require_roots([op("add", "/traits/-", 1)], ("extra",))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=8,
)


@given(JSON)
def test_no_body_breaks_it(body: Any) -> None:
    with contextlib.suppress(InvalidValue):
        operations = patch.parse(body, escapes=True)
        patch.require_roots(operations, tuple(DEFAULTS))
        assert set(patch.apply(DOCUMENT, operations, DEFAULTS)) == set(DOCUMENT)
