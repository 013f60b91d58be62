"""JSON PATCH: accepted and refused patches, and that a failed patch changes nothing."""

import contextlib
import json
from copy import copy, deepcopy
from typing import Any

import jsonpatch
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from baremetal_sched.documents import patch
from baremetal_sched.errors import InvalidValue
from tests.examples import examples

DOCUMENT = {"extra": {"a": 1, "list": [1, 2]}, "name": None}
DEFAULTS = {"extra": {}, "name": None}


def parse(body: Any, *, escapes: bool = False, most_operations: int = 1000, max_depth: int = 25) -> patch.Patch:
    return patch.parse(body, escapes=escapes, most_operations=most_operations, max_depth=max_depth)


def op(kind: str, path: str, *value: Any) -> dict[str, Any]:
    return {"op": kind, "path": path, **({"value": value[0]} if value else {})}


def test_what_is_not_well_formed_is_refused(subtests: pytest.Subtests) -> None:
    for body in [
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
    ]:
        with subtests.test(body=body), pytest.raises(InvalidValue):
            parse(body)


def test_what_is_set_needs_a_value() -> None:
    patch.require_values(parse([op("remove", "/extra/b"), op("add", "/extra/b", None)]))
    for kind in ("add", "replace"):
        with pytest.raises(InvalidValue, match="does not contain a 'value' member"):
            patch.require_values(parse([op(kind, "/extra/b")]))


def test_escapes_are_taken_when_they_may() -> None:
    operations = parse([op("add", "/extra/a~1b", 1)], escapes=True)
    assert patch.apply(DOCUMENT, operations, DEFAULTS)["extra"]["a/b"] == 1


def test_operations_are_applied_in_order(subtests: pytest.Subtests) -> None:
    for operations, extra in [
        ([op("add", "/extra/b", 2)], {"a": 1, "list": [1, 2], "b": 2}),
        ([op("replace", "/extra/a", 2)], {"a": 2, "list": [1, 2]}),
        ([op("remove", "/extra/a")], {"list": [1, 2]}),
        ([op("add", "/extra/list/-", 3)], {"a": 1, "list": [1, 2, 3]}),
        ([op("remove", "/extra")], {}),
        ([op("remove", "/extra"), op("add", "/extra/z", 1)], {"z": 1}),
        ([], DOCUMENT["extra"]),
    ]:
        with subtests.test(operations=operations):
            assert patch.apply(DOCUMENT, operations, DEFAULTS)["extra"] == extra
            assert DOCUMENT["extra"] == {"a": 1, "list": [1, 2]}
            assert DEFAULTS["extra"] == {}


def test_what_does_not_apply_names_the_operation(subtests: pytest.Subtests) -> None:
    for operation in [
        op("replace", "/extra/none", 1),
        op("remove", "/extra/none"),
        op("add", "/extra/list/9", 1),
        op("add", "/name/x", 1),
    ]:
        with subtests.test(operation=operation), pytest.raises(InvalidValue, match=operation["path"]):
            patch.apply(DOCUMENT, [operation], DEFAULTS)


def test_as_many_operations_as_are_allowed() -> None:
    operations = [op("add", f"/extra/k{number}", number) for number in range(10)]
    assert len(parse(operations, most_operations=10)) == 10
    with pytest.raises(InvalidValue, match="10 operations are too many: at most 9 are accepted"):
        parse(operations, most_operations=9)


def nested(levels: int) -> Any:
    return {"a": nested(levels - 1)} if levels else 1


def test_a_document_gets_no_deeper_than_a_body_may_be() -> None:
    assert parse([op("add", "/extra", nested(24))])
    assert parse([op("add", "/extra/a/a", nested(22))])
    for path, levels in (("/extra", 25), ("/extra/a/a", 23), ("/extra" + "/a" * 25, 0)):
        with pytest.raises(InvalidValue, match="nested too deeply: at most 25 levels are accepted"):
            parse([op("add", path, nested(levels))])


def test_what_is_not_changed_is_not_copied() -> None:
    document = {"extra": {"large": {"x": [1]}, "small": {"y": 1}}, "name": None}
    result = patch.apply(document, [op("add", "/extra/small/z", 1)], DEFAULTS)
    assert result["extra"]["large"] is document["extra"]["large"]
    assert document["extra"]["small"] == {"y": 1}


def test_the_operations_stay_as_they_are() -> None:
    """They are applied again if the document has changed meanwhile."""
    operations = [
        op("add", "/extra/n", {"list": [1]}),
        op("add", "/extra/n/list/-", 2),
        op("remove", "/extra/n/list/0"),
    ]
    before = json.dumps(operations)
    for _ in range(2):
        assert patch.apply(DOCUMENT, operations, DEFAULTS)["extra"]["n"] == {"list": [2]}
    assert json.dumps(operations) == before


def test_the_cost_is_that_of_document_and_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """No operation takes as long as a copy of the document."""
    document = {"extra": {f"k{number}": {"a": [number], "b": "x" * 20} for number in range(20_000)}, "name": None}
    operations = [op("add", f"/extra/k{number}/z", number) for number in range(1000)]
    copied = list[int]()
    monkeypatch.setattr(patch, "copy", lambda container: copied.append(len(container)) or copy(container))
    applied = patch.apply(document, operations, DEFAULTS)
    assert sorted(copied)[-2:] == [2, 20_000], "the container of all is copied once"
    assert len(copied) <= len(operations) + 2
    assert applied["extra"]["k19999"] is document["extra"]["k19999"]  # type: ignore[index]


NAMES = st.sampled_from(["extra", "name", "a", "b", "list", "0", "1", "2", "7", "-"])
SMALL = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["", "text"]),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(NAMES, children, max_size=3),
    max_leaves=6,
)
OPERATIONS = st.lists(
    st.builds(
        op,
        st.sampled_from(["add", "replace", "remove"]),
        st.builds(
            lambda root, rest: "/" + "/".join([root, *rest]),
            st.sampled_from(["extra", "name"]),
            st.lists(NAMES, max_size=3),
        ),
        SMALL,
    ),
    max_size=6,
)


@given(st.dictionaries(NAMES, SMALL, max_size=4), OPERATIONS)
@example({}, [op("add", "/extra/a", {"-": None}), op("replace", "/extra/a/-", 1)])
@example({"-": 1}, [op("replace", "/extra/-", 2)])
@settings(max_examples=examples(500))
def test_the_result_is_that_of_the_library_of_the_original(extra: dict[str, Any], operations: list[Any]) -> None:
    document: dict[str, Any] = {"extra": extra, "name": None}
    expected: dict[str, Any] | None = deepcopy(document)
    for operation in deepcopy(operations):
        try:
            if operation["op"] == "remove" and operation["path"].count("/") == 1:
                expected[operation["path"][1:]] = deepcopy(DEFAULTS[operation["path"][1:]])
            else:
                expected = jsonpatch.JsonPatch([operation]).apply(expected)
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, ValueError, KeyError):
            expected = None
            break
    before = json.dumps(document)
    try:
        found = patch.apply(document, operations, DEFAULTS)
    except InvalidValue:
        found = None
    assert found == expected
    assert json.dumps(document) == before


def test_only_some_fields_may_be_touched() -> None:
    patch.require_roots(patch.Patch([op("add", "/extra/a", 1)]), ("extra",))
    with pytest.raises(InvalidValue, match="Only the following can be updated: extra"):
        patch.require_roots(patch.Patch([op("add", "/traits/-", 1)]), ("extra",))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=8,
)


@given(JSON)
def test_no_body_breaks_it(body: Any) -> None:
    with contextlib.suppress(InvalidValue):
        operations = parse(body, escapes=True)
        patch.require_roots(operations, tuple(DEFAULTS))
        assert set(patch.apply(DOCUMENT, operations, DEFAULTS)) == set(DOCUMENT)
