"""2.101 to 2.104, and what old clients of Nova ask for: images, security groups, actions that are not served."""

from typing import Any

import pytest

from tests.functional.compute.test_server_actions import act
from tests.functional.compute.test_servers import UNKNOWN, add_flavor, add_image, boot, message, show
from tests.service import Service

NEWEST = "2.104"


def _names(service: Service, query: str, version: str = NEWEST) -> list[str]:
    found = service.compute("GET", f"/flavors?{query}", version=version).json["flavors"]
    return [flavor["name"] for flavor in found]


def test_flavors_by_name(service: Service, subtests: pytest.Subtests) -> None:
    for name in ("gold", "golden", "Marigold"):
        add_flavor(service, name)
    for query, expected in {
        "name=gold&sort_key=name": {"gold", "golden", "Marigold"},
        "name=^gold": {"gold", "golden"},
        "name=^gold$": {"gold"},
        "name=x": set(),
    }.items():
        with subtests.test(query=query):
            assert set(_names(service, query)) == expected
    for query, version in (("name=gold", "2.101"), ("name=(", NEWEST), ("sort_key=rxtx_factor", NEWEST)):
        with subtests.test(query=query, version=version):
            service.compute("GET", f"/flavors?{query}", version=version, status=400)
    assert len(_names(service, "sort_key=rxtx_factor", "2.101")) == 3


def test_flavors_without_what_nothing_uses(service: Service) -> None:
    """2.102: neither ``rxtx_factor`` nor ``OS-FLV-DISABLED:disabled``, in no answer, and not in a creation."""
    gone = {"rxtx_factor", "OS-FLV-DISABLED:disabled"}
    flavor = add_flavor(service)
    for version, shown in (("2.101", gone), ("2.102", set())):
        for path in (f"/flavors/{flavor}", "/flavors/detail"):
            document = service.compute("GET", path, version=version).json
            one = document["flavor"] if "flavor" in document else document["flavors"][0]
            assert gone & set(one) == shown
    body = {"flavor": {"name": "f2", "ram": 1, "vcpus": 1, "disk": 1, "rxtx_factor": 2.0}}
    refused = service.compute("POST", "/flavors", body, version="2.102", status=400)
    assert "rxtx_factor" in message(refused)
    service.compute("POST", "/flavors", body, version="2.101")


def test_what_is_gone_or_not_served(service: Service) -> None:
    """2.101 changes volumes, and 2.103 an alias of servers, neither of which is served at any microversion."""
    for version in ("2.1", "2.101", NEWEST):
        service.compute("GET", "/os-volumes_boot", version=version, status=404)
    service.compute("POST", f"/servers/{UNKNOWN}/os-volume_attachments", {}, version="2.101", status=404)
    service.compute("GET", "/flavors?nosuch=1", version="2.102", status=400)


def _pin(service: Service, server: str, zone: str | None, status: int = 200, version: str = NEWEST) -> Any:
    body = {"server": {"pinned_availability_zone": zone}}
    return service.compute("PUT", f"/servers/{server}", body, version=version, status=status)


def test_a_server_is_pinned_to_its_zone(service: Service) -> None:
    service.add_node("n1")
    server = boot(service, add_flavor(service), add_image(service), availability_zone="nova").json["server"]["id"]
    for zone in ("nova", None, None, "nova", "nova"):
        assert _pin(service, server, zone).json["server"]["pinned_availability_zone"] == zone
        assert show(service, server)["pinned_availability_zone"] == zone
    assert "Unpin it first" in message(_pin(service, server, "rack1", status=409))
    assert show(service, server)["pinned_availability_zone"] == "nova"
    _pin(service, server, None)
    assert "it is in nova" in message(_pin(service, server, "rack1", status=409))
    for zone, version in (("", NEWEST), ("nova", "2.103")):
        _pin(service, server, zone, status=400, version=version)
    assert show(service, server)["pinned_availability_zone"] is None


def test_a_server_without_a_machine_is_pinned_to_no_zone(service: Service) -> None:
    server = boot(service, add_flavor(service), add_image(service)).json["server"]["id"]
    assert "it has no machine yet" in message(_pin(service, server, "nova", status=409))


def test_images_of_the_image_api(service: Service, subtests: pytest.Subtests) -> None:
    """Below 2.36, as old clients list them."""
    first = add_image(service, "debian", min_ram=512, os_distro="debian", auto_disk_config="true")
    second = add_image(service, "fedora", instance_uuid=UNKNOWN)
    (summary, other) = service.compute("GET", "/images?name=debian", version="2.35").json["images"] + [None]
    assert (summary["id"], summary["name"], set(summary), other) == (first, "debian", {"id", "name", "links"}, None)
    assert [link["rel"] for link in summary["links"]] == ["self", "bookmark", "alternate"]
    assert summary["links"][2]["href"] == f"http://localhost/image/v2/images/{first}"
    assert service.http.get(summary["links"][0]["href"]).json["image"]["id"] == first
    detail = service.compute("GET", f"/images/{first}", version="2.1").json["image"]
    assert (detail["minRam"], detail["minDisk"], detail["metadata"]["os_distro"]) == (512, 0, "debian")
    assert (detail["status"], detail["progress"], detail["OS-DCF:diskConfig"]) == ("SAVING", 25, "AUTO")
    assert detail["created"].endswith("Z")
    for query, expected in {
        "": {first, second},
        "status=SAVING": {first, second},
        "status=ACTIVE": set(),
        "minRam=512": {first},
        "property-os_distro=debian": {first},
        f"server=http://localhost/servers/{UNKNOWN}": {second},
        "changes-since=2020-01-01T00:00:00Z": {first, second},
        "changes-since=2050-01-01T00:00:00Z": set(),
    }.items():
        with subtests.test(query=query):
            found = service.compute("GET", f"/images/detail?{query}", version="2.35").json["images"]
            assert {image["id"] for image in found} == expected
    page = service.compute("GET", "/images?limit=1", version="2.35").json
    (rest,) = service.http.get(page["images_links"][0]["href"]).json["images"]
    assert {page["images"][0]["id"], rest["id"]} == {first, second}
    for path, status in (
        ("/images/" + UNKNOWN, 404), ("/images?nosuch=1", 400), ("/images?limit=x", 400), ("/images?minRam=x", 400),
        (f"/images?marker={UNKNOWN}", 400),
    ):  # fmt: skip
        with subtests.test(path=path):
            service.compute("GET", path, version="2.35", status=status)
    for path in ("/images", "/images/detail", f"/images/{first}"):
        with subtests.test(path=path):
            assert "image API" in service.compute("GET", path, version="2.36", status=404).text


def test_security_groups_of_a_server(service: Service) -> None:
    service.add_node("n1")
    groups = [{"name": "web"}, {"name": "db"}]
    server = boot(service, add_flavor(service), add_image(service), security_groups=groups).json["server"]["id"]
    found = service.compute("GET", f"/servers/{server}/os-security-groups").json["security_groups"]
    assert [(group["name"], group["rules"]) for group in found] == [("db", []), ("web", [])]
    service.compute("GET", f"/servers/{UNKNOWN}/os-security-groups", status=404)


def test_extensions_that_clients_look_for(service: Service) -> None:
    for alias in ("os-scheduler-hints", "os-security-groups", "images"):
        assert service.compute("GET", f"/extensions/{alias}").json["extension"]["alias"] == alias


def test_actions_that_bare_metal_has_not(service: Service, subtests: pytest.Subtests) -> None:
    """501 only where Nova may answer so: to other actions clients take it for success."""
    service.add_node("n1")
    server = boot(service, add_flavor(service), add_image(service)).json["server"]["id"]
    for action in (
        *("resize", "createImage", "createBackup", "addFloatingIp", "addFixedIp", "addSecurityGroup", "suspend"),
        *("removeSecurityGroup", "shelve", "migrate", "evacuate", "os-resetState", "restore", "resume"),
    ):
        with subtests.test(action=action):
            said = message(act(service, server, action, {}, status=400))
            assert said == f"The action {action} is not implemented for servers on bare metal."
    for action in ("pause", "unpause", "changePassword", "os-getConsoleOutput", "os-getVNCConsole"):
        with subtests.test(action=action):
            assert "is not implemented" in message(act(service, server, action, {}, status=501))


def test_the_refusal_of_an_upload_says_what_became_of_the_image(service: Service) -> None:
    image = add_image(service)
    headers = {"Content-Type": "application/octet-stream"}
    said = service.http.put(f"/image/v2/images/{image}/file", b"data", headers=headers, status="4*").text
    assert "record is still there, and can be booted as it is" in said
    assert f"openstack image delete {image}" in said
    service.add_node("n1")
    assert boot(service, add_flavor(service), image).json["server"]["id"]
