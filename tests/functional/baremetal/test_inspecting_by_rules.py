"""Inspection rules in inspections: attributes, calls, limits, and rules in files."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from baremetal_sched.baremetal.inspection import inspection
from baremetal_sched.baremetal.inspection.rules import engine
from baremetal_sched.conductor import inspecting
from baremetal_sched.conductor.process import check_registration
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import load
from tests.clocks import Clock
from tests.restored import Rows
from tests.service import Service, fault

TRAIT = {"op": "add-trait", "args": {"name": "CUSTOM_A"}}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    """The service, as it is where it listens on a loopback address only."""
    with Service(database_url, inspection_rules={"allow_loopback": True}) as running:
        running.add_conductor("c1")
        yield running


def add(service: Service, *actions: dict[str, Any], **more: Any) -> Any:
    body = {"actions": list(actions) or [TRAIT], **more}
    return service.baremetal("POST", "/inspection_rules", body, status=201).json


def patch(service: Service, uuid: str, *operations: tuple[Any, ...], **expected: Any) -> Any:
    return service.patch_at(f"/inspection_rules/{uuid}", *operations, **expected)


@pytest.fixture
def uuid(service: Service) -> str:
    body = {"driver": "fake-hardware", "name": "n1", "properties": {"cpus": 16, "memory_mb": "65536"}}
    node: str = service.baremetal("POST", "/nodes", body).json["uuid"]
    service.set_columns(node, provision_state="manageable")
    return node


def inspect(service: Service, uuid: str, *, state: str = "manageable") -> Any:
    service.baremetal("PUT", f"/nodes/{uuid}/states/provision", {"target": "inspect"}, status=202)
    service.work()
    node = service.node(uuid)
    assert node["provision_state"] == state
    return node


def setting(path: str, value: Any) -> dict[str, Any]:
    return {"op": "set-attribute", "args": {"path": path, "value": value}}


def test_without_rules_a_node_stays_as_it_is(service: Service, uuid: str) -> None:
    before = service.node(uuid)
    after = inspect(service, uuid)
    assert after["inspection_finished_at"]
    ignored = ("inspection_finished_at", "updated_at", "provision_updated_at")
    assert {name: after[name] for name in after if name not in ignored} == {
        name: before[name] for name in before if name not in ignored
    }


def test_rules_set_class_traits_group_and_properties(service: Service, uuid: str) -> None:
    service.add_conductor("c2", "rack-a")
    service.baremetal("PUT", f"/nodes/{uuid}/traits", {"traits": ["CUSTOM_OLD", "CUSTOM_KEPT"]})
    add(
        service,
        setting("/resource_class", "cpus-{inventory[cpu][count]}"),
        setting("/conductor_group", "Rack-A"),
        setting("/properties/vendor", "{inventory[system_vendor][manufacturer]}"),
        {"op": "set-capability", "args": ["boot_mode", "{inventory[boot][current_boot_mode]}"]},
        {"op": "add-trait", "args": {"name": "CUSTOM_BIG"}},
        {"op": "remove-trait", "args": {"name": "CUSTOM_OLD"}},
        {"op": "set-plugin-data", "args": {"path": "size.class", "value": "big"}},
        conditions=[{"op": "gt", "args": {"values": ["{inventory[memory][physical_mb]}", 32768]}}],
    )
    add(service, setting("/extra/never", True), conditions=[{"op": "!eq", "args": {"values": [1, 1]}}])
    node = inspect(service, uuid)
    assert (node["resource_class"], node["conductor_group"]) == ("cpus-16", "rack-a")
    assert node["traits"] == ["CUSTOM_BIG", "CUSTOM_KEPT"]
    assert node["properties"] == {"cpus": 16, "memory_mb": "65536", "vendor": "Fake", "capabilities": "boot_mode:bios"}
    assert node["extra"] == {}
    assert service.provider_traits(uuid) == ["CUSTOM_BIG", "CUSTOM_KEPT"]
    assert set(service.inventory(uuid)) == {"CUSTOM_CPUS_16"}
    assert node["conductor"] == "c2"
    found = service.baremetal("GET", f"/nodes/{uuid}/inventory").json
    assert found["plugin_data"] == {"size": {"class": "big"}}
    assert found["inventory"]["cpu"]["count"] == 16


def test_what_is_deleted_gets_its_default(service: Service, uuid: str) -> None:
    for name, value in (("description", "d"), ("maintenance", True), ("resource_class", "c"), ("extra", {"a": 1})):
        service.patch(uuid, ("add", f"/{name}", value))
        add(service, {"op": "del-attribute", "args": {"path": f"/{name}"}})
    node = inspect(service, uuid)
    assert (node["description"], node["resource_class"]) == (None, None)
    assert (node["maintenance"], node["extra"]) == (False, {})


def test_rules_go_by_falling_priority_and_then_by_age(service: Service, uuid: str) -> None:
    for name, priority in (("a", 1), ("b", 9), ("c", 1), ("d", 0)):
        add(service, {"op": "extend-attribute", "args": ["/extra/order", name]}, priority=priority)
    assert inspect(service, uuid)["extra"]["order"] == ["b", "a", "c", "d"]


def test_rules_set_attributes_of_ports(service: Service, uuid: str) -> None:
    body = {"node_uuid": uuid, "address": "52:54:00:00:00:01"}
    port = service.baremetal("POST", "/ports", body).json["uuid"]
    for port_id, path, value in (
        (port, "/physical_network", "physnet-{inventory[cpu][count]}"),
        ("52:54:00:00:00:01", "/extra/speed", "{inventory[interfaces][0][speed_mbps]}"),
    ):
        add(service, {"op": "set-port-attribute", "args": {"port_id": port_id, "path": path, "value": value}})
    inspect(service, uuid)
    shown = service.baremetal("GET", f"/ports/{port}").json
    assert (shown["physical_network"], shown["extra"]) == ("physnet-16", {"speed": 10000})


def test_a_rule_that_fails_fails_the_inspection_and_changes_nothing(service: Service, uuid: str, row: Rows) -> None:
    for action, reason in [
        ({"op": "fail", "args": {"msg": "no {node.name} here"}}, "Reason: no n1 here (inspection rule "),
        (setting("/uuid", "x"), "'uuid' cannot be set by a rule"),
        (setting("/instance_uuid", "x"), "'instance_uuid' cannot be set by a rule"),
        (setting("/name", "not a name"), "invalid name 'not a name'"),
        (setting("/resource_class", "c" * 81), "resource_class"),
        (setting("/conductor_group", "nosuch"), "No valid host was found"),
        (setting("/properties/memory_mb", "many"), "memory_mb=many"),
        (setting("/driver", "nosuch"), "nosuch"),
        (setting("/extra", "x"), "extra"),
        ({"op": "add-trait", "args": ["CUSTOM_{item}"], "loop": list(range(51))}, "maximum number of traits"),
        ({"op": "set-port-attribute", "args": ["x", "/extra/a", 1]}, "Port x could not be found"),
        ({"op": "api-call", "args": {"url": "http://127.0.0.1:1/", "retries": 0}}, "The call of http://127.0.0.1:1/"),
    ]:
        with row(action, reason):
            add(service, setting("/extra/a", 1), TRAIT, {"op": "set-plugin-data", "args": ["a", 1]}, priority=1)
            add(service, action)
            node = inspect(service, uuid, state="inspect failed")
            assert reason in node["last_error"]
            assert (node["extra"], node["traits"], node["reservation"]) == ({}, [], None)
            # What was found is kept all the same, as it was found.
            found = service.baremetal("GET", f"/nodes/{uuid}/inventory").json
            assert found["inventory"]["cpu"]["count"] == 16
            assert found["plugin_data"] == {}


@pytest.mark.ci
def test_a_regular_expression_that_never_ends_fails_the_inspection(service: Service, uuid: str) -> None:
    endless = {"op": "contains", "args": ["a" * 40 + "!", "(a+)+$"]}
    rule = service.baremetal("POST", "/inspection_rules", {"conditions": [endless], "actions": [TRAIT]}).json["uuid"]
    node = inspect(service, uuid, state="inspect failed")
    assert node["last_error"] == (f"the regular expression '(a+)+$' takes more than 1 s (inspection rule {rule})")


def test_whatever_a_rule_sets_there_is_a_reason_if_it_cannot_be(service: Service, uuid: str, row: Rows) -> None:
    for value in ["x" * 300, [1], {"a": {"b": 1}}]:
        with row(value):
            port = service.baremetal("POST", "/ports", {"node_uuid": uuid, "address": "52:54:00:00:00:01"}).json["uuid"]
            rule = add(service)["uuid"]
            actions = [setting(f"/{name}", value) for name in inspection.SETTABLE]
            for name in inspection.SETTABLE_ON_PORTS:
                actions.append({"op": "set-port-attribute", "args": [port, f"/{name}", value]})
            for action in actions:
                patch(service, rule, ("replace", "/actions", [action]))
                service.baremetal("PUT", f"/nodes/{uuid}/states/provision", {"target": "inspect"})
                service.work()
                node = service.node(uuid)
                assert (node["provision_state"] == "manageable") is (node["last_error"] is None), action
                assert "Unexpected" not in (node["last_error"] or ""), node["last_error"]
                service.set_columns(uuid, provision_state="manageable", last_error=None)


def test_fake_machines_have_what_their_driver_info_says(service: Service, uuid: str) -> None:
    more = {"cpu": {"flags": ["vmx"]}, "pci_devices": [{"vendor_id": "10de"}]}
    service.patch(uuid, ("add", "/driver_info/fake_inventory", more))
    inspect(service, uuid)
    found = service.baremetal("GET", f"/nodes/{uuid}/inventory").json["inventory"]
    assert (found["cpu"]["count"], found["cpu"]["flags"]) == (16, ["vmx"])
    assert found["pci_devices"] == [{"vendor_id": "10de"}]
    service.patch(uuid, ("replace", "/driver_info/fake_inventory", "x"))
    body = {"target": "inspect"}
    refused = service.baremetal("PUT", f"/nodes/{uuid}/states/provision", body, status=400)
    assert "fake_inventory must be an object" in fault(refused)


@pytest.fixture
def listener() -> Iterator[tuple[str, list[tuple[str, str | None]], list[int]]]:
    """An HTTP server: its address, the requests that it had, and the statuses that it answers with in turn."""
    seen: list[tuple[str, str | None]] = []
    statuses: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, self.headers.get("X-Token")))
            self.send_response(statuses.pop(0) if statuses else 200)
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", seen, statuses
        server.shutdown()
        thread.join()


def test_rules_make_calls(service: Service, uuid: str, listener: Any) -> None:
    url, seen, statuses = listener
    statuses += [503]
    args = {"url": url + "/{node.name}", "headers": {"X-Token": "t"}, "backoff_factor": 0.01}
    add(service, {"op": "api-call", "args": args})
    inspect(service, uuid)
    assert seen == [("/n1", "t"), ("/n1", "t")]


def test_calls_that_are_refused(service: Service, uuid: str, listener: Any) -> None:
    url, seen, statuses = listener
    statuses += [404]
    add(service, {"op": "api-call", "args": {"url": url}})
    assert "404" in inspect(service, uuid, state="inspect failed")["last_error"]
    assert len(seen) == 1


def test_a_call_ends_when_its_time_is_over(service: Service, uuid: str) -> None:
    """However slowly the answer comes, and however often it is asked for: the server goes on until the test is over."""
    stop = threading.Event()

    def drip(server: socket.socket) -> None:
        while not stop.is_set():
            with suppress(OSError), server.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not stop.wait(0.05):
                    connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        args = {"url": url, "timeout": 0.1, "retries": 2, "backoff_factor": 0.01}
        add(service, {"op": "api-call", "args": args})
        reason = inspect(service, uuid, state="inspect failed")["last_error"]
        stop.set()
        thread.join()
    assert f"The call of {url} by an inspection rule failed: timed out" in reason


def test_all_calls_of_an_inspection_have_one_limit(
    service: Service, uuid: str, listener: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pauses of 10, 20 and 40 seconds would be more than a minute."""
    clock, pauses = Clock(), list[float]()
    sleep = lambda seconds: pauses.append(seconds) or clock.go_on(seconds)  # noqa: E731
    monkeypatch.setattr(inspecting, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=sleep))
    url, seen, statuses = listener
    statuses += [503] * 20
    add(service, {"op": "api-call", "args": {"url": url, "retries": 10, "backoff_factor": 10}})
    assert "HTTP Error 503" in inspect(service, uuid, state="inspect failed")["last_error"]
    assert (pauses, len(seen)) == ([10, 20], 3)


def test_a_conductor_that_others_reach_does_not_call_itself(database_url: str, listener: Any, row: Rows) -> None:
    for url in ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::ffff:127.0.0.1]:{port}/"]:
        with row(url):
            address, seen, _ = listener
            with Service(database_url) as service:
                service.add_conductor("c1")
                body = {"driver": "fake-hardware", "name": "n1"}
                node = service.baremetal("POST", "/nodes", body).json["uuid"]
                service.set_columns(node, provision_state="manageable")
                add(
                    service,
                    {"op": "api-call", "args": {"url": url.format(port=address.rpartition(":")[2]), "retries": 0}},
                )
                reason = inspect(service, node, state="inspect failed")["last_error"]
            assert "is this machine itself; to allow it, list it in [inspection_rules] allowed_hosts" in reason
            assert not seen


def test_hosts_are_checked_at_the_start() -> None:
    with pytest.raises(InvalidValue, match=r"\[inspection_rules\] allowed_hosts: '10.0.0.0/99'"):
        check_registration(load(overrides={"inspection_rules": {"allowed_hosts": ["10.0.0.0/99"]}}))


def test_a_rule_makes_no_document_that_could_not_be_shown(service: Service, uuid: str) -> None:
    add(service, setting("/extra/" + "/".join("a" * 300), 1))
    reason = inspect(service, uuid, state="inspect failed")["last_error"]
    assert "nested too deeply: at most 100 levels are accepted. (inspection rule" in reason
    for path in (f"/nodes/{uuid}", "/nodes/detail", f"/nodes/{uuid}/inventory"):
        service.baremetal("GET", path)


def test_rules_together_may_use_what_the_settings_say(database_url: str) -> None:
    with Service(database_url, inspection_rules={"max_size": 100_000}) as service:
        service.add_conductor("c1")
        node = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}).json["uuid"]
        service.set_columns(node, provision_state="manageable")
        doubling = setting("/extra/a", "{node[extra][a]}{node[extra][a]}")
        rule = add(service, setting("/extra/a", "a" * 100), *[doubling] * 40)["uuid"]
        reason = inspect(service, node, state="inspect failed")["last_error"]
        assert f"may produce 100000 bytes ([inspection_rules] max_size) (inspection rule {rule})" in reason
        assert service.node(node)["extra"] == {}


BUILT_IN = """
- uuid: first
  priority: 10000
  actions: [{op: extend-attribute, args: [/extra/order, first]}]
- uuid: same
  description: before rules of clients with the same priority
  actions: [{op: extend-attribute, args: [/extra/order, same]}]
"""


def test_built_in_rules(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(BUILT_IN)
    with Service(database_url, inspection_rules={"built_in_rules": str(tmp_path / "rules.yaml")}) as service:
        service.add_conductor("c1")
        node = service.add_node("n1", power=False)
        service.set_columns(node, provision_state="manageable")
        add(service, {"op": "extend-attribute", "args": ["/extra/order", "client"]})
        add(service, {"op": "extend-attribute", "args": ["/extra/order", "early"]}, priority=9999)
        assert inspect(service, node)["extra"]["order"] == ["first", "early", "same", "client"]
        service.baremetal("DELETE", "/inspection_rules", status=204)
        assert inspect(service, node)["extra"]["order"][4:] == ["first", "same"]


def test_files_that_cannot_be_used(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for text, complaint in [
        ("{", "cannot be read"),
        ("a: 1", "must be a list of rules"),
        ("- 1", "rule 1 of"),
        ("- {uuid: a, actions: []}", "should be non-empty"),
        ("- {uuid: a, actions: [{op: log, args: {}}]}", "missing required argument(s): msg"),
        ("- {actions: [{op: log, args: [x]}]}", "uuid"),
        ("- {uuid: a, priority: -1, actions: [{op: log, args: [x]}]}", "Priority must be between"),
        ("[{uuid: a, actions: [{op: log, args: [x]}]}, {uuid: a, actions: [{op: log, args: [x]}]}]", "two rules a"),
        (None, "cannot be read"),
    ]:
        with subtests.test(msg=repr((text, complaint))):
            path = tmp_path / "rules.yaml"
            path.unlink(missing_ok=True)
            if text is not None:
                path.write_text(text)
            with pytest.raises(InvalidValue) as refused:
                engine.load_file(str(path))
            assert complaint in str(refused.value)
            assert "[inspection_rules] built_in_rules" in str(refused.value)
            assert str(path) in str(refused.value)


def test_a_conductor_does_not_start_with_such_a_file(tmp_path: Path) -> None:
    settings = load(overrides={"inspection_rules": {"built_in_rules": str(tmp_path / "nosuch.yaml")}})
    with pytest.raises(InvalidValue, match=r"nosuch\.yaml cannot be read"):
        check_registration(settings)


def test_an_empty_file_has_no_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("")
    assert engine.load_file(str(tmp_path / "rules.yaml")) == engine.load_file(None) == {}
