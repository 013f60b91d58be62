# tier: first
"""/v1/nodes/{node}/firmware, and the step that changes it."""

from typing import Any

from tests.functional.baremetal import test_bios
from tests.restored import Rows
from tests.service import Service

node = test_bios.node


def update(service: Service, settings: Any) -> None:
    steps = [{"interface": "firmware", "step": "update", "args": {"settings": settings}}]
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "clean", "clean_steps": steps})
    service.work()


def test_updates_are_kept(service: Service, node: str) -> None:
    assert service.baremetal("GET", "/nodes/n1/firmware").json == {"firmware": []}
    update(
        service,
        [{"component": "bmc", "url": "http://h/bmc-2.bin"}, {"component": "bios", "url": "http://h/f/bios-3.tar?x=1"}],
    )
    bios, bmc = service.baremetal("GET", f"/nodes/{node}/firmware").json["firmware"]
    assert (bios["component"], bmc["component"]) == ("bios", "bmc")
    assert bios["current_version"] == bios["last_version_flashed"] == "bios-3"
    assert (bmc["initial_version"], bmc["current_version"], bmc["updated_at"]) == ("1.0.0", "bmc-2", None)
    update(service, [{"component": "bmc", "url": "http://h/bmc-3.bin"}])
    untouched, after = service.baremetal("GET", f"/nodes/{node}/firmware").json["firmware"]
    assert untouched == bios
    assert after["updated_at"]
    changed = {"current_version": "bmc-3", "last_version_flashed": "bmc-3", "updated_at": after["updated_at"]}
    assert after == {**bmc, **changed}
    assert service.node(node)["provision_state"] == "manageable"


def test_updates_that_are_none_fail_the_cleaning(service: Service, node: str, row: Rows) -> None:
    for settings in [
        {},
        "x",
        [1],
        [{"component": "bmc"}],
        [{"url": "http://h/x"}],
        [{"component": "bmc", "url": "http://h/"}],
        [{"component": "bmc", "url": "http://[x"}],
        [{"component": 1, "url": "http://h/x"}],
    ]:
        with row(settings):
            update(service, settings)
            shown = service.node(node)
            assert shown["provision_state"] == "clean failed"
            assert "settings must be a list of objects with a component" in shown["last_error"]
            assert service.baremetal("GET", "/nodes/n1/firmware").json == {"firmware": []}


def test_fields(service: Service, node: str) -> None:
    update(service, [{"component": "bmc", "url": "http://h/bmc-2.bin"}])
    identity = {"vendor", "model", "serial_number"}
    (whole,) = service.baremetal("GET", "/nodes/n1/firmware").json["firmware"]
    assert set(whole) > identity
    (older,) = service.baremetal("GET", "/nodes/n1/firmware", version="1.113").json["firmware"]
    assert set(older) == set(whole) - identity
    (selected,) = service.baremetal("GET", "/nodes/n1/firmware?fields=component,vendor").json["firmware"]
    assert selected == {name: whole[name] for name in ("component", "vendor", "created_at", "updated_at")}
    for path, version, status in (
        ("/nodes/n1/firmware", "1.85", 404),
        ("/nodes/n1/firmware?fields=vendor", "1.113", 400),
        ("/nodes/n1/firmware?fields=nosuch", "1.114", 400),
        ("/nodes/n1/firmware?fields=vendor&detail=true", "1.114", 400),
        ("/nodes/n1/firmware?limit=1", "1.114", 400),
        ("/nodes/nosuch/firmware", "1.114", 404),
        ("/nodes/n1/firmware/bmc", "1.114", 404),
    ):
        service.baremetal("GET", path, version=version, status=status)
