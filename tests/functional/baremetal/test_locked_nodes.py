"""A node that a conductor works on takes no part in other changes either: moves to it, calls, reports."""

from typing import Any

import pytest

from baremetal_sched.baremetal.api import waiting
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import DatabaseTimeout
from tests.restored import Rows
from tests.service import Service, fault

MAC = "52:54:00:00:00:01"
REPORT = {"inventory": {"interfaces": [{"name": "eth0", "mac_address": MAC}]}}


@pytest.fixture
def node(service: Service) -> str:
    return service.add_node("n1", power=False)


def refused(service: Service, method: str, path: str, body: Any, **options: Any) -> None:
    response = service.baremetal(method, path, body, status=409, **options)
    assert "locked by host c9" in fault(response)


def test_nothing_is_moved_to_it(service: Service, node: str, row: Rows) -> None:
    for path, content in [
        ("/ports", {"address": MAC}),
        ("/portgroups", {"name": "pg1"}),
        ("/volume/connectors", {"type": "iqn", "connector_id": "iqn.a"}),
        ("/volume/targets", {"volume_type": "iscsi", "volume_id": "v", "boot_index": 0}),
    ]:
        with row(path, content):
            other = service.add_node("n2", power=False)
            for uuid in (node, other):
                service.set_columns(uuid, provision_state="manageable", power_state="power off")
            moved = service.baremetal("POST", path, {"node_uuid": other, **content}).json["uuid"]
            move = [{"op": "replace", "path": "/node_uuid", "value": node}]
            service.set_columns(node, reservation="c9")
            refused(service, "PATCH", f"{path}/{moved}", move)
            service.set_columns(node, reservation=None)
            assert service.baremetal("PATCH", f"{path}/{moved}", move).json["node_uuid"] == node


def test_no_method_of_its_vendor_is_called(service: Service, node: str) -> None:
    service.patch(node, ("add", "/vendor_interface", "fake"))
    service.set_columns(node, reservation="c9")
    refused(service, "POST", f"/nodes/{node}/vendor_passthru?method=second_method", {"bar": "kazoo"})
    assert service.node(node)["reservation"] == "c9"


def test_no_allocation_is_made_for_it(service: Service, node: str) -> None:
    service.set_columns(node, provision_state="active", reservation="c9")
    refused(service, "POST", "/allocations", {"node": node})
    service.set_columns(node, reservation=None)
    service.baremetal("POST", "/allocations", {"node": node}, status=201)


def test_an_inspection_does_not_go_on(service: Service, node: str) -> None:
    service.baremetal("POST", "/ports", {"node_uuid": node, "address": MAC})
    info = {"agent_secret_token": "t", "lookup_bmc_addresses": ["192.0.2.7"]}
    service.set_columns(node, provision_state="inspect wait", reservation="c9", driver_internal_info=info)
    refused(service, "POST", "/continue_inspection", REPORT, version="1.1")
    service.set_columns(node, reservation=None)
    service.baremetal("POST", "/continue_inspection", REPORT, version="1.1", status=202)


def test_a_machine_that_was_enrolled_by_itself_is_not_looked_at_twice_at_once(database_url: str) -> None:
    with Service(database_url, auto_discovery={"enabled": True, "driver": "fake-hardware"}) as service:
        service.add_conductor("c1")
        uuid = service.baremetal("POST", "/continue_inspection", REPORT, version="1.1", status=202).json["uuid"]
        service.work()
        service.set_columns(uuid, reservation="c9", driver_internal_info={"agent_secret_token": "t"})
        refused(service, "POST", "/continue_inspection", REPORT, version="1.1")


def test_while_it_is_locked_it_is_only_looked_at(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt would change it; none of the others locks anything in the database."""
    attempts = {"node_locked_retry_attempts": 6, "node_locked_retry_interval": 0.01}
    with Service(database_url, conductor=attempts) as service:
        service.add_conductor("c1")
        node = service.add_node("n1", power=False)
        service.set_columns(node, reservation="c9")
        runs: list[object] = []
        write = Database.write

        def note(database: Database, work: Any, **options: Any) -> Any:
            runs.append(work)
            return write(database, work, **options)

        monkeypatch.setattr(Database, "write", note)
        refused(service, "PATCH", f"/nodes/{node}", [{"op": "add", "path": "/extra/a", "value": 1}])
        assert len(runs) == 1


def test_it_is_what_is_told_if_the_last_look_is_cut(
    service: Service, node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a slow machine the deadline may pass within the statement that asks whether the node is still locked."""
    service.set_columns(node, reservation="c9")

    def cut(*_: object) -> bool:
        raise DatabaseTimeout

    monkeypatch.setattr(waiting, "_is_locked", cut)
    refused(service, "PATCH", f"/nodes/{node}", [{"op": "add", "path": "/extra/a", "value": 1}])
