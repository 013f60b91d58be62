"""Every change of who has a machine passes the gate: what is written of it is written in a few modules, and noted."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from tests.definitions import PACKAGE, Module, read

GATE = "placement/gate.py"
TABLES = f"{PACKAGE}.placement.tables"
_CLAIMS = {"placement/allocations.py", "placement/single_claim.py"}
#: The modules that may write the rows of a model, by the name of the model.
WRITERS = {
    "Allocation": _CLAIMS,
    "Consumer": _CLAIMS | {"placement/consumers.py"},
    "WaitingRequest": {"placement/waiting_requests.py", "placement/waiting_ends.py"},
    "ClaimEnd": {"placement/ends.py", "placement/ending.py", "placement/single_claim.py"},
}
#: Where the ends of claims are known: in the rooms of the gate.
KNOW_ENDS = {
    f"placement/{name}.py"
    for name in (
        *("allocations", "consumers", "ending", "ends", "gate", "single_claim"),
        *("waiting_ends", "waiting_requests"),
    )
}
#: Where the calendar of a machine is counted up.
COUNT_UP = {
    "baremetal/provider/booked_machines.py",
    "placement/calendars.py",
    "placement/projected.py",
    "placement/single_claim.py",
}
#: The names by which statements know the models.
_NAMES = {
    "ALLOCATIONS": "Allocation",
    "CONSUMERS": "Consumer",
    "PENDING_CLAIMS": "WaitingRequest",
    "CLAIM_ENDS": "ClaimEnd",
    **{name: name for name in WRITERS},
}
_STATEMENTS = {"insert", "update", "delete", "insert_missing", "insert_if_missing", "if_missing"}
#: Columns of consumers that follow from other rows: who has a machine does not depend on them.
_DERIVED = {"usages", "updated_at"}
#: The limits of the uses of a transaction's notes.
MOST_USES, MOST_FILES = 14, 11


@pytest.fixture(scope="module")
def modules() -> Mapping[str, Module]:
    """The modules of the package, by path, except what imports whole databases."""
    return {each.path: each for each in read().values() if not each.path.startswith("moving/")}


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def writes(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the model and the kind of each statement that changes who has a machine, or waits for one."""
    sets: dict[ast.AST, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == "values" and not node.args:
            columns = {keyword.arg or "**" for keyword in node.keywords}
            sets |= dict.fromkeys(ast.walk(node.func), columns)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        kind = _name(node.func)
        if kind in _NAMES:  # an entity, which a session inserts
            yield _NAMES[kind], "insert"
        for argument in node.args if kind in _STATEMENTS else ():
            model = _NAMES.get(_name(argument))
            is_derived = model == "Consumer" and kind == "update" and sets.get(node, {"*"}) <= _DERIVED
            if model is not None and not is_derived:
                yield model, kind


def test_who_has_a_machine_is_written_in_few_modules(modules: Mapping[str, Module]) -> None:
    found = {(path, model) for path, module in modules.items() for model, _ in writes(module.tree)}
    assert found == {(path, model) for model, paths in WRITERS.items() for path in paths}


@pytest.mark.parametrize(
    "text",
    [
        "session.execute(delete(Allocation).where(a))",
        "insert_missing(session, models.Consumer, rows)",
        "connection.execute(update(PENDING_CLAIMS).values(state='claimed'))",
        "update(CONSUMERS).values(usages=1, generation=2)",
        "update(CONSUMERS).where(a)",
        "update(CONSUMERS).values(given)",
        "session.add(WaitingRequest(uuid=uuid))",
        "insert(models.Allocation)",
    ],
)
def test_a_write_is_found(text: str) -> None:
    assert list(writes(ast.parse(text)))


def test_a_text_that_follows_may_be_written_anywhere() -> None:
    assert not list(writes(ast.parse("update(CONSUMERS).where(a).values(usages=1, updated_at=2)")))


def test_writers_pass_the_gate(modules: Mapping[str, Module]) -> None:
    """They call it, or it calls them."""
    own = {what for _, what in modules[GATE].imported}
    for path in set().union(*(paths for model, paths in WRITERS.items() if model != "ClaimEnd")):
        name = f"{PACKAGE}.{path.removesuffix('.py').replace('/', '.')}"
        uses = {_name(node.value) for node in modules[path].nodes if isinstance(node, ast.Attribute)}
        assert "gate" in uses or name in own, path


def test_ends_touch_claims_in_the_rooms_of_the_gate_only(modules: Mapping[str, Module]) -> None:
    found = {
        path
        for path, module in modules.items()
        for _, what in module.imported
        if path.startswith("placement/") and what.startswith((f"{PACKAGE}.placement.ends", f"{TABLES}.CLAIM_ENDS"))
    }
    assert {"placement/allocations.py", "placement/single_claim.py"} < found <= KNOW_ENDS


def test_calendars_are_counted_up_in_few_places(modules: Mapping[str, Module]) -> None:
    found = {path for path, module in modules.items() for _ in calendars(module.tree)}
    assert found == COUNT_UP


def calendars(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what sets the column: an argument of ``values``, or a key of a dictionary for it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "calendar":
            yield node
        for key in node.keys if isinstance(node, ast.Dict) else ():
            if key is not None and (_name(key) == "calendar" or getattr(key, "value", None) == "calendar"):
                yield key


@pytest.mark.parametrize("text", ["a.values(calendar=1)", "a.values({INVENTORIES.c.calendar: 1})", "{'calendar': 1}"])
def test_a_count_is_found(text: str) -> None:
    assert len([*calendars(ast.parse(text))]) == 1


def test_notes_are_used_in_few_places(modules: Mapping[str, Module]) -> None:
    found = Counter(
        path
        for path, module in modules.items()
        for node in module.nodes
        if not path.startswith("db/") and isinstance(node, ast.Call) and _name(node.func) == "notes_of"
    )
    assert 0 < found.total() <= MOST_USES, found
    assert len(found) <= MOST_FILES, found
