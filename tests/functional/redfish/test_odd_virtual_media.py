"""Controllers whose virtual media are malformed, slow, or somewhere else: an error in words, soon, and nothing else."""

import json
from typing import Any

import pytest

from baremetal_sched.drivers.boot_settings import ImageUrl
from baremetal_sched.drivers.redfish import virtual_media
from baremetal_sched.errors.baremetal import ControllerError, MachineUnreachable
from baremetal_sched.machines.machine import Machine
from tests.redfish import machine, quick
from tests.redfish_service import Fault, RedfishService

pytestmark = pytest.mark.sqlite_only

MEDIA, DEVICE = "/redfish/v1/Media", "/redfish/v1/Media/1"
INSERT = f"{DEVICE}/Actions/VirtualMedia.InsertMedia"
IMAGE = ImageUrl.parse("image", "https://ann:Img-Passw0rd@images.example.com/a.iso?signature=5ecret")
SETTINGS = {"vmedia_insert_timeout": 0.2, "vmedia_insert_poll_interval": 0.1}

COLLECTION: dict[str, Any] = {"@odata.id": MEDIA, "Name": "Media", "Members": [{"@odata.id": DEVICE}]}
SLOT: dict[str, Any] = {
    "@odata.id": DEVICE,
    "Id": "1",
    "Name": "Slot",
    "MediaTypes": ["CD"],
    "Inserted": False,
    "Image": None,
    "Actions": {"#VirtualMedia.InsertMedia": {"target": INSERT}},
}


def put(bmc: RedfishService, *, collection: Any = None, slot: Any = None, insert: Fault | None = None) -> Machine:
    """The machine, whose controller says this of its media."""
    bmc.controller.system["VirtualMedia"] = {"@odata.id": MEDIA}
    bmc.controller.faults += [insert] if insert else []
    for path, document in ((MEDIA, collection or COLLECTION), (DEVICE, slot or SLOT)):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        bmc.controller.faults.append(Fault(path=f"{path}$", method="GET", body=body))
    settings = quick(**SETTINGS, **({"read_timeout": 0.2} if insert is not None and insert.hangs else {}))
    return machine(settings=settings, **bmc.driver_info())


def insert(target: Machine) -> str:
    """The error."""
    with pytest.raises((ControllerError, MachineUnreachable)) as failed:
        virtual_media.insert(target, "cdrom", IMAGE)
    said = str(failed.value)
    assert len(said) < 1000
    assert "Passw0rd" not in said
    assert "5ecret" not in said
    return said


def test_a_malformed_collection(bmc: RedfishService, subtests: pytest.Subtests) -> None:
    for collection in [
        b"<h1>",
        b"[]",
        {**COLLECTION, "Members": 7},
        {**COLLECTION, "Members": [7]},
        {**COLLECTION, "Members": [{"@odata.id": 7}]},
        {**COLLECTION, "Members": [{"@odata.id": "http://203.0.113.9/x"}]},
        {**COLLECTION, "Members": [{"@odata.id": "/redfish/v1/nowhere"}] * 1000},
    ]:
        with subtests.test(msg=repr(collection)):
            target = put(bmc, collection=collection)
            assert "The management controller at" in insert(target)
            with pytest.raises(ControllerError):
                virtual_media.show(target)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"MediaTypes": 7}, ""),
        ({"MediaTypes": {"a": 1}}, ""),
        ({"MediaTypes": [7, None, ["CD"]]}, "no virtual media device of the type 'cdrom'"),
        ({"MediaTypes": None}, ""),
        ({"Actions": {}}, "takes no images from a network"),
        ({"Actions": {"#VirtualMedia.InsertMedia": {"target": 7}}}, ""),
        ({"Actions": {"#VirtualMedia.InsertMedia": {"target": "http://203.0.113.9/x"}}}, ""),
        ({"Actions": {"#VirtualMedia.InsertMedia": {}}}, ""),
        ({"Actions": 7}, ""),
        ({"Inserted": {"a": 1}, "Image": [1]}, ""),
        ({"Id": None}, ""),
    ],
)
def test_a_malformed_device(bmc: RedfishService, changed: dict[str, Any], text: str) -> None:
    refusal = Fault(path=f"{INSERT}$", status=400, body=b'{"error": {"message": "no"}}')
    assert text in insert(put(bmc, slot={**SLOT, **changed}, insert=refusal))


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault(path=f"{INSERT}$", hangs=True), "it did not answer in time"),
        (Fault(path=f"{INSERT}$", drops=True), "cannot be reached"),
        (Fault(path=f"{INSERT}$", status=500, body=b"[" * 10_000), "it failed (HTTP 500)"),
        (Fault(path=f"{INSERT}$", status=400, body=b'{"error": 7}'), "refused the request (HTTP 400)"),
        (Fault(path=f"{INSERT}$", status=400, body=b"{}"), "into 'cdrom': refused the request (HTTP 400)"),
        (Fault(path=f"{INSERT}$", status=503, body=b"no"), "into 'cdrom': It is busy (HTTP 503)"),
        (Fault(path=f"{INSERT}$", status=401, body=b"{}"), "refused the credentials"),
        (Fault(path=f"{INSERT}$", status=204, body=b""), "does not say that it is inserted, 0.2 seconds later"),
    ],
)
def test_an_insertion_that_fails(bmc: RedfishService, fault: Fault, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_media, "_PAUSE", 0)
    assert text in insert(put(bmc, insert=fault))
    bmc.controller.sessions.close_all()  # one that is refused with 401 is taken for expired, and left
