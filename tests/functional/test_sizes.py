"""Accepted documents can be read: rows stay below what MariaDB sends at once (max_allowed_packet), on every
database."""

import pytest

from baremetal_sched.db import sizes
from baremetal_sched.db.types import LARGEST_TEXT
from baremetal_sched.errors import DocumentTooLarge
from tests.service import Service, fault

MEGABYTE = 10**6


@pytest.mark.ci
def test_a_node_cannot_grow_beyond_what_can_be_read(service: Service) -> None:
    node = service.add_node("n1")
    service.set_columns(node, extra={"a": "x" * 8 * MEGABYTE}, properties={"b": "x" * 6_500_000})
    response = service.patch(node, ("add", "/driver_info/c", "x" * MEGABYTE), status=400)
    assert "all fields together; at most" in fault(response)
    assert "xxx" not in fault(response)
    service.patch(node, ("add", "/driver_info/c", "x" * 400_000), status=200)
    # The last column that is not nearly empty, and all that is small, still come.
    service.patch(node, ("add", "/description", "y" * 4000), ("add", "/network_data", {}), status=200)
    assert len(service.node(node)["extra"]["a"]) == 8 * MEGABYTE
    listed = service.baremetal("GET", "/nodes/detail", status=200).json["nodes"]
    assert len(listed[0]["properties"]["b"]) == 6_500_000
    service.patch(node, ("remove", "/extra/a"), status=200)


def test_nor_by_quotation_marks(service: Service) -> None:
    """Each of which takes four bytes in a statement."""
    node = service.add_node("n1")
    service.set_columns(node, extra={"a": '"' * 3_500_000})
    assert len(service.node(node)["extra"]["a"]) == 3_500_000
    with pytest.raises(DocumentTooLarge):
        service.set_columns(node, extra={"a": '"' * 4_000_000})


def test_a_config_drive_that_can_be_sent_can_be_stored_or_is_refused(service: Service) -> None:
    for size, status in ((LARGEST_TEXT - MEGABYTE, 202), (LARGEST_TEXT + 1000, 400)):
        node = service.add_node()
        body = {"target": "active", "configdrive": "x" * size}
        response = service.baremetal("PUT", f"/nodes/{node}/states/provision", body, status=status)
        service.baremetal("GET", f"/nodes/{node}", status=200)
        assert status == 202 or "Make it smaller" in fault(response)
    service.work()
    service.baremetal("GET", "/nodes/detail", status=200)


@pytest.mark.parametrize("path", ["/nodes", "/ports", "/allocations", "/chassis"])
def test_everything_is_bounded(service: Service, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "_LARGEST_ROW", 200_000)
    node = service.add_node("n1")
    body = {
        "/nodes": {"driver": "fake-hardware"},
        "/ports": {"node_uuid": node, "address": "aa:bb:cc:dd:ee:ff"},
        "/allocations": {"resource_class": "gold", "name": "a1"},
        "/chassis": {},
    }[path]
    uuid = service.baremetal("POST", path, body, status=201).json["uuid"]
    for number, status in enumerate((200, 200, 400)):
        service.patch_at(f"{path}/{uuid}", ("add", f"/extra/a{number}", "x" * 90_000), status=status)
    assert len(service.baremetal("GET", f"{path}/{uuid}", status=200).json["extra"]) == 2
