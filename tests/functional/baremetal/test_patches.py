"""PATCH of all resources: limits, when it locks anything, and what its messages do not show."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from baremetal_sched.db.models import Node
from baremetal_sched.documents import patch
from tests.built_once import built_once
from tests.restored import Rows
from tests.service import Service, fault
from tests.waiting import PATIENCE

pytestmark = pytest.mark.shows_secrets  # the document "extra" has no secrets for anyone

MARK = "k33p-1t"
SECRETS = {
    "password": MARK,
    "deep": {"list": [MARK, {"x": MARK}, [MARK]], "number": 7_700_700_077, "text": MARK},
    "list": [MARK, [MARK]],
}
STEP = {"interface": "deploy", "step": "erase_devices", "args": SECRETS}
NODE_DOCUMENTS = {"driver_info": SECRETS, "instance_info": SECRETS, "properties": SECRETS, "extra": SECRETS}
ACTION = {"op": "fail", "args": [MARK]}
CONDITION = {"op": "one-of", "args": [MARK, [MARK]]}
LINK = {"port_id": MARK, "switch_id": "52:54:00:00:00:77", "switch_info": MARK}
NETWORK_DATA = {
    "links": [{"id": MARK, "type": "phy", "ethernet_mac_address": "52:54:00:00:00:78"}],
    "networks": [],
    "services": [{"type": "dns", "address": "192.0.2.177"}],
}
#: Where each thing is made, and what of.
CREATIONS: dict[str, dict[str, Any]] = {
    "nodes": {"driver": "fake-hardware", **NODE_DOCUMENTS, "network_data": NETWORK_DATA},
    "chassis": {"extra": SECRETS},
    "ports": {"address": "52:54:00:00:00:01", "extra": SECRETS, "local_link_connection": LINK},
    "portgroups": {"extra": SECRETS, "properties": SECRETS},
    "volume/connectors": {"type": "iqn", "connector_id": "c", "extra": SECRETS},
    "volume/targets": {
        "volume_type": "iscsi",
        "volume_id": "v",
        "boot_index": 0,
        "properties": SECRETS,
        "extra": SECRETS,
    },
    "allocations": {"name": "a1", "resource_class": "CUSTOM_NONE", "extra": SECRETS},
    "deploy_templates": {"name": "CUSTOM_T", "steps": [{**STEP, "priority": 1}], "extra": SECRETS},
    "runbooks": {"name": "CUSTOM_R", "steps": [{**STEP, "order": 1}], "extra": SECRETS},
    "inspection_rules": {"actions": [ACTION], "conditions": [CONDITION], "sensitive": True},
}
OF_A_NODE = ("ports", "portgroups", "volume/connectors", "volume/targets")


def make(service: Service) -> dict[str, str]:
    """One of each; returns their paths."""
    paths: dict[str, str] = {}
    for collection, body in CREATIONS.items():
        body = deepcopy(body)
        if collection in OF_A_NODE:
            body["node_uuid"] = paths["nodes"].split("/")[-1]
        made = service.baremetal("POST", f"/{collection}", body, status=201).json
        paths[collection] = f"/{collection}/{made['uuid']}"
    service.set_columns(paths["nodes"].split("/")[-1], power_state="power off")
    return paths


@pytest.fixture
def paths(service: Service) -> dict[str, str]:
    return built_once(service, make)


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """Everything that is logged meanwhile, as text."""
    lines: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.getMessage()} {record.exc_info}")

    def keep(logger: Any, name: str, event: dict[str, Any]) -> dict[str, Any]:
        lines.append(repr(event))
        raise structlog.DropEvent

    handler, config, root = Handler(), structlog.get_config(), logging.getLogger()
    structlog.configure(processors=[keep], cache_logger_on_first_use=False)
    root.addHandler(handler)
    yield lines
    root.removeHandler(handler)
    structlog.configure(**config)


# -- what messages do not show -----------------------------------------------------------------------------------------

PARTS = st.sampled_from(
    [*SECRETS, "0", "1", "2", "-", "x", "number", "none", "steps", "args", "op", "interface", "links", "id", "port_id"]
)
#: Of which no word could be taken for the mark.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "v", "add-trait", "matches", "fail"]),
    lambda children: st.lists(children, max_size=2) | st.dictionaries(PARTS, children, max_size=2),
    max_leaves=4,
)


@st.composite
def requests(draw: Any) -> tuple[str, list[dict[str, Any]]]:
    collection = draw(st.sampled_from(sorted(CREATIONS)))
    operations = []
    for _ in range(draw(st.integers(1, 3))):
        field = draw(st.sampled_from([*CREATIONS[collection], "none"]))
        path = "/".join(["", field, *draw(st.lists(PARTS, max_size=4))])
        kind = draw(st.sampled_from(["add", "replace", "remove", "remove", "test", "move", "copy", "nosuch"]))
        operation = {"op": kind, "path": path}
        if kind in ("move", "copy"):
            operation["from"] = "/driver_info/password"
        if draw(st.integers(0, 9)):
            operation["value"] = draw(VALUES)
        operations.append(operation)
    return collection, operations


def test_no_message_and_no_log_line_shows_what_is_stored(
    service: Service, paths: dict[str, str], logged: list[str]
) -> None:
    refused = set()

    @settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(requests())
    def check(request: tuple[str, list[dict[str, Any]]]) -> None:
        collection, operations = request
        logged.clear()
        response = service.baremetal("PATCH", paths[collection], operations, status="*")
        assert response.status_code < 500, (operations, response.text)
        if response.status_code >= 400:
            refused.add(collection)
            assert MARK not in response.text, operations
            assert "7700700077" not in response.text, operations
        assert not [line for line in logged if MARK in line]

    check()
    assert len(refused) > len(CREATIONS) / 2  # chance may leave one out


def test_a_path_that_leads_nowhere_is_all_that_is_shown(service: Service, paths: dict[str, str], row: Rows) -> None:
    for collection, path in [
        ("nodes", "/driver_info/a/b"),
        ("nodes", "/instance_info/a/b"),
        ("volume/targets", "/properties/a/b"),
        ("deploy_templates", "/steps/0/args/a/b"),
        ("runbooks", "/steps/0/args/a/b"),
    ]:
        with row(collection, path):
            response = service.patch_at(paths[collection], ("add", path, "new"), status=400)
            assert fault(response) == (
                f"Couldn't apply patch '{{'op': 'add', 'path': '{path}'}}'. Reason: member 'a' not found"
            )


def test_the_words_of_a_sensitive_rule_are_not_read_through_another_operator(
    service: Service, paths: dict[str, str]
) -> None:
    refused = service.patch_at(paths["inspection_rules"], ("replace", "/actions/0/op", "add-trait"), status=400)
    assert fault(refused).endswith("operator add-trait: the name is not that of a trait")
    rule = {"conditions": [{"op": "one-of", "args": ["x", f"(?P<{MARK}>"]}], "actions": [ACTION], "sensitive": True}
    uuid = service.baremetal("POST", "/inspection_rules", rule).json["uuid"]
    refused = service.patch_at(f"/inspection_rules/{uuid}", ("replace", "/conditions/0/op", "matches"), status=400)
    assert fault(refused).endswith("operator matches: the regular expression is invalid")


# -- limits ------------------------------------------------------------------------------------------------------------


def nested(levels: int) -> Any:
    return {"a": nested(levels - 1)} if levels else 1


def test_there_is_a_most_of_operations(service: Service, paths: dict[str, str], row: Rows) -> None:
    for collection in sorted(CREATIONS):
        with row(collection):
            field = next(name for name in ("extra", "description") if name in {*CREATIONS[collection], "description"})
            operations = [("replace", f"/{field}", {} if field == "extra" else "d")] * 1000
            service.patch_at(paths[collection], *operations)
            assert "1001 operations are too many: at most 1000 are accepted in one request" in fault(
                service.patch_at(paths[collection], *operations, operations[0], status=400)
            )


def test_nothing_gets_deeper_than_a_body_may_be(service: Service, paths: dict[str, str], row: Rows) -> None:
    for collection in sorted(set(CREATIONS) - {"inspection_rules"}):
        with row(collection):
            path = paths[collection]
            service.patch_at(path, ("add", "/extra/a", nested(20)))
            service.patch_at(path, ("add", "/extra/a" + "/a" * 20, nested(3)))
            refused = service.patch_at(path, ("add", "/extra" + "/a" * 24, nested(1)), status=400)
            assert "nested too deeply: at most 25 levels are accepted" in fault(refused)
            service.baremetal("GET", path)


# -- what waits for whom -----------------------------------------------------------------------------------------------


def many(count: int = 200) -> list[tuple[str, str, Any]]:
    return [("add", f"/extra/k{number}", number) for number in range(count)]


def watch(monkeypatch: pytest.MonkeyPatch, do: Callable[[], None]) -> list[int]:
    """Call ``do`` when a patch has been applied first; the list gets an entry for each time."""
    times: list[int] = []
    apply = patch.apply

    def applied(*args: Any) -> dict[str, Any]:
        result = apply(*args)
        times.append(len(times))
        if len(times) == 1:
            # Another connection in another thread, so that a lock of this one would stop it.
            thread = threading.Thread(target=do)
            thread.start()
            thread.join(PATIENCE)
            assert not thread.is_alive()
        return result

    monkeypatch.setattr(patch, "apply", applied)
    return times


def test_a_long_patch_is_evaluated_while_others_write(
    service: Service, paths: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write() -> None:
        service.database.write(lambda session: session.execute(update(Node).values(description="meanwhile")))

    times = watch(monkeypatch, write)
    node = service.patch_at(paths["nodes"], *many()).json
    assert (len(times), node["extra"]["k199"]) == (2, 199)
    assert node["description"] == "meanwhile"


def test_a_long_patch_is_evaluated_once_if_nothing_changes(
    service: Service, paths: dict[str, str], monkeypatch: pytest.MonkeyPatch, row: Rows
) -> None:
    for collection in sorted(set(CREATIONS) - {"inspection_rules"}):
        with row(collection):
            times = watch(monkeypatch, lambda: None)
            found = service.patch_at(paths[collection], *many()).json
            assert (len(times), found["extra"]["k199"]) == (1, 199)
            assert service.baremetal("GET", paths[collection]).json["extra"] == found["extra"]


def test_a_long_patch_at_the_address_of_the_collection(service: Service, paths: dict[str, str]) -> None:
    uuid = paths["nodes"].split("/")[-1]
    assert service.patch_at(f"/nodes?node_ident={uuid}", *many()).json["extra"]["k199"] == 199


def test_a_long_patch_of_what_changes_meanwhile_is_evaluated_again(
    service: Service, paths: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write() -> None:
        changed = json.dumps({"theirs": 1})
        service.database.write(
            lambda session: session.connection().exec_driver_sql(f"UPDATE nodes SET extra = '{changed}'")
        )

    times = watch(monkeypatch, write)
    node = service.patch_at(paths["nodes"], *many(), ("add", "/extra/ours", 1)).json
    assert len(times) == 2
    assert node["extra"] == {"theirs": 1, "ours": 1} | {f"k{number}": number for number in range(200)}


def test_a_long_patch_that_does_not_apply_is_refused_without_a_lock(
    service: Service, paths: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[object] = []
    monkeypatch.setattr(service.database, "write", lambda work, **options: written.append(work))
    refused = service.patch_at(paths["nodes"], *many(), ("remove", "/extra/none"), status=400)
    assert "can't remove a non-existent object 'none'" in fault(refused)
    service.patch_at("/nodes/none", *many(), status=404)
    assert not written
