# tier: first
"""/servers: requests, answers, and refusals."""

import base64
from typing import Any

import pytest

from baremetal_sched.baremetal.provider.audit import audit
from tests.functional.compute.world import ZEROS
from tests.restored import restored
from tests.service import Service
from tests.unchanged import unchanged

UNKNOWN = "99999999-9999-4999-8999-999999999999"


def add_flavor(service: Service, name: str = "bm", **extra_specs: str) -> str:
    body = {"flavor": {"name": name, "ram": 2048, "vcpus": 4, "disk": 20}}
    flavor: str = service.compute("POST", "/flavors", body).json["flavor"]["id"]
    named = {key.replace("__", ":"): value for key, value in extra_specs.items()}
    specs = {"resources:CUSTOM_GOLD": "1", **ZEROS, **named}
    service.compute("POST", f"/flavors/{flavor}/os-extra_specs", {"extra_specs": specs})
    return flavor


def add_image(service: Service, name: str = "i", **properties: Any) -> str:
    from baremetal_sched.image import images
    from baremetal_sched.image.access import EVERYTHING

    fields = {
        "name": name, "visibility": "public", "container_format": "bare", "disk_format": "raw",
        **{key: properties.pop(key) for key in ("min_ram", "min_disk") if key in properties},
    }  # fmt: skip
    named = {key.replace("__", ":"): value for key, value in properties.items()}
    return service.database.write(lambda session: images.create(session, EVERYTHING, fields, named, ()).uuid)


@pytest.fixture
def flavor(service: Service) -> str:
    return add_flavor(service)


@pytest.fixture
def image(service: Service) -> str:
    return add_image(service, os_distro="debian")


def boot(service: Service, flavor: str, image: str, *, version: str = "2.100", status: int = 202, **more: Any) -> Any:
    """POST /servers; the answer."""
    hints = more.pop("hints", None)
    asked = {"name": "s1", "flavorRef": flavor, "imageRef": image, "networks": "auto"}
    body: dict[str, Any] = {"server": {**asked, **more}}
    if float(version[2:]) < 37:
        del body["server"]["networks"]
    if hints is not None:
        body["os:scheduler_hints"] = hints
    return service.compute("POST", "/servers", body, version=version, status=status)


def show(service: Service, uuid: str, version: str = "2.100") -> dict[str, Any]:
    document: dict[str, Any] = service.compute("GET", f"/servers/{uuid}", version=version).json["server"]
    return document


def message(answer: Any) -> str:
    (fault,) = answer.json.values()
    assert fault["code"] == answer.status_int
    text: str = fault["message"]
    return text


def test_a_server_from_post_to_404(service: Service, flavor: str, image: str) -> None:
    node = service.add_node("n1")
    answer = boot(service, flavor, image, name="My web", metadata={"a": "b"}, tags=["t"], description="d")
    created = answer.json["server"]
    assert answer.headers["Location"] == f"http://localhost/compute/v2.1/servers/{created['id']}"
    assert created.keys() == {"id", "links", "OS-DCF:diskConfig", "security_groups", "adminPass"}
    assert len(created["adminPass"]) >= 12
    server = show(service, created["id"])
    assert (server["status"], server["OS-EXT-STS:task_state"], server["progress"]) == ("BUILD", "spawning", 0)
    service.work()
    server = show(service, created["id"])
    expected = {
        "name": "My web", "status": "ACTIVE", "metadata": {"a": "b"}, "tags": ["t"], "description": "d",
        "OS-EXT-SRV-ATTR:hypervisor_hostname": node, "OS-EXT-SRV-ATTR:host": "c1", "addresses": {},
        "OS-EXT-SRV-ATTR:hostname": "my-web", "OS-EXT-AZ:availability_zone": "nova", "pinned_availability_zone": None,
        "OS-EXT-STS:power_state": 1, "OS-EXT-STS:vm_state": "active", "OS-EXT-STS:task_state": None,
        "locked": False, "config_drive": "", "key_name": None, "scheduler_hints": {}, "host_status": "UP",
        "trusted_image_certificates": None, "server_groups": [], "security_groups": [{"name": "default"}],
    }  # fmt: skip
    assert {name: server[name] for name in expected} == expected
    assert server["flavor"] == {
        "original_name": "bm", "vcpus": 4, "ram": 2048, "disk": 20, "ephemeral": 0, "swap": 0,
        "extra_specs": {"resources:CUSTOM_GOLD": "1", **ZEROS},
    }  # fmt: skip
    assert (server["image"]["id"], server["image"]["properties"]) == (image, {"os_distro": "debian"})
    assert "fault" not in server
    service.compute("DELETE", f"/servers/{created['id']}", status=204)
    assert show(service, created["id"])["OS-EXT-STS:task_state"] == "deleting"
    service.work()
    assert "could not be found" in message(service.compute("GET", f"/servers/{created['id']}", status=404))
    assert service.database.read(audit) == []


def test_the_password_is_in_the_config_drive_only(service: Service, flavor: str, image: str) -> None:
    node = service.add_node("n1")
    created = boot(service, flavor, image, adminPass="swordfish-42").json["server"]
    assert created["adminPass"] == "swordfish-42"
    assert "swordfish-42" not in service.compute("GET", f"/servers/{created['id']}").text
    assert "swordfish-42" not in service.baremetal("GET", f"/nodes/{node}").text


def test_a_flavor_and_an_image_that_are_changed_later_change_no_server(
    service: Service, flavor: str, image: str
) -> None:
    service.add_node("n1")
    uuid = boot(service, flavor, image).json["server"]["id"]
    before = show(service, uuid)
    service.compute("POST", f"/flavors/{flavor}/os-extra_specs", {"extra_specs": {"trait:CUSTOM_A": "required"}})
    service.compute("DELETE", f"/flavors/{flavor}")
    after = show(service, uuid)
    assert (after["flavor"], after["image"]) == (before["flavor"], before["image"])


def test_no_machine_is_202_and_an_error_that_says_why(service: Service, flavor: str, image: str) -> None:
    uuid = boot(service, flavor, image).json["server"]["id"]
    server = show(service, uuid)
    assert (server["status"], server["fault"]["code"], server["hostId"]) == ("ERROR", 500, "")
    assert server["fault"]["message"] == "No valid host was found. There are no nodes."
    assert server["OS-EXT-AZ:availability_zone"] == ""
    service.compute("DELETE", f"/servers/{uuid}", status=204)
    service.compute("GET", f"/servers/{uuid}", status=404)


def test_addresses_are_those_of_the_network_data(service: Service, flavor: str, image: str) -> None:
    data = {
        "links": [{"id": "l", "type": "phy", "ethernet_mac_address": "52:54:00:12:34:56"}],
        "networks": [
            {"id": "n4", "link": "l", "network_id": "net", "type": "ipv4", "ip_address": "10.0.0.4"},
            {"id": "n6", "link": "l", "network_id": "net", "type": "ipv6", "ip_address": "2001:db8::4/64"},
            {"id": "d", "link": "l", "network_id": "other", "type": "ipv4_dhcp"},
        ],
        "services": [],
    }
    service.add_node("n1", network_data=data)
    server = show(service, boot(service, flavor, image).json["server"]["id"])
    mac = {"OS-EXT-IPS-MAC:mac_addr": "52:54:00:12:34:56", "OS-EXT-IPS:type": "fixed"}
    assert server["addresses"] == {
        "net": [{"addr": "10.0.0.4", "version": 4, **mac}, {"addr": "2001:db8::4", "version": 6, **mac}]
    }
    found = service.compute("GET", "/servers?ip=10.0.0").json["servers"]
    assert [each["id"] for each in found] == [server["id"]]
    assert service.compute("GET", "/servers?ip6=10.0.0").json["servers"] == []

    plain = {"net": [{"addr": "10.0.0.4", "version": 4}, {"addr": "2001:db8::4", "version": 6}]}
    path = f"/servers/{server['id']}/ips"
    assert service.compute("GET", path).json == {"addresses": plain}
    assert service.compute("GET", f"{path}/net").json == plain
    assert "not a member of the network other" in service.compute("GET", f"{path}/other", status=404).text
    service.compute("GET", f"/servers/{UNKNOWN}/ips", status=404)


# -- what clients send -------------------------------------------------------------------------------------------------


def test_all_that_clients_send(service: Service, flavor: str, image: str) -> None:
    service.add_node("n1")
    service.compute("POST", "/os-keypairs", {"keypair": {"name": "k", "public_key": KEY}}, version="2.100")
    device = {
        "uuid": image, "boot_index": 0, "source_type": "image", "destination_type": "local",
        "delete_on_termination": True,
    }  # fmt: skip
    answer = boot(
        service, flavor, "", block_device_mapping_v2=[device], min_count=1, max_count=1, key_name="k",
        user_data=base64.b64encode(b"#!/bin/sh\n").decode(), config_drive="true", networks="none",
        security_groups=[{"name": "web"}], availability_zone="nova", hostname="web.example.org",
        accessIPv4="10.0.0.1", accessIPv6="2001:db8::1", hints={"different_host": [UNKNOWN], "own": "x"},
        **{"OS-DCF:diskConfig": "AUTO"},
    )  # fmt: skip
    server = show(service, answer.json["server"]["id"])
    expected = {
        "key_name": "k", "config_drive": "True", "security_groups": [{"name": "web"}], "accessIPv4": "10.0.0.1",
        "accessIPv6": "2001:db8::1", "pinned_availability_zone": "nova", "OS-DCF:diskConfig": "AUTO",
        "OS-EXT-SRV-ATTR:hostname": "web.example.org",
        "scheduler_hints": {"different_host": [UNKNOWN], "own": "x"},
    }  # fmt: skip
    assert {name: server[name] for name in expected} == expected
    assert server["image"]["id"] == image


KEY = (
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAQQDVqwAcLq2Cb7i2OvoyvHVfv6Twh0p2mNQHbXB8KxE8qz7J4mS7wQ9i1m3nK2VqYV0"
    "7Jt1qk2mZ7mRr8g4Y2cZj a@b"
)


def test_several_servers_and_their_reservation(service: Service, flavor: str, image: str) -> None:
    for number in range(3):
        service.add_node(f"n{number}")
    answer = boot(service, flavor, image, min_count="2", max_count=3, return_reservation_id=True)
    reservation = answer.json["reservation_id"]
    found = service.compute("GET", f"/servers/detail?reservation_id={reservation}").json["servers"]
    assert {(server["name"], server["OS-EXT-SRV-ATTR:launch_index"]) for server in found} == {
        ("s1-1", 0), ("s1-2", 1), ("s1-3", 2),
    }  # fmt: skip
    assert len({server["OS-EXT-SRV-ATTR:hypervisor_hostname"] for server in found}) == 3


def test_names_of_several_servers(service: Service, flavor: str, image: str, subtests: pytest.Subtests) -> None:
    """Each has its number, in names and host names that columns and instances hold."""
    for name, host in (("n" * 253, "n" * 61), ("w" * 60 + ".x", "w" * 60)):
        with subtests.test(name):
            answer = boot(service, flavor, image, name=name, min_count=2, return_reservation_id=True)
            query = f"reservation_id={answer.json['reservation_id']}&sort_key=launch_index&sort_dir=asc"
            found = service.compute("GET", f"/servers/detail?{query}").json["servers"]
            assert [each["name"] for each in found] == [f"{name}-1", f"{name}-2"]
            assert [each["OS-EXT-SRV-ATTR:hostname"] for each in found] == [f"{host}-1", f"{host}-2"]
    without = boot(service, flavor, image, name="数据库", min_count=2).json["server"]["id"]
    assert show(service, without)["OS-EXT-SRV-ATTR:hostname"] == f"server-{without}"


def test_what_is_refused_is_named(service: Service, flavor: str, image: str, subtests: pytest.Subtests) -> None:
    service.add_node("n1")
    with unchanged(service):
        for more, word in [
            ({"imageRef": ""}, "imageRef"),
            ({"imageRef": UNKNOWN}, "could not be found"),
            ({"flavorRef": "nosuch"}, "nosuch"),
            ({"key_name": "nosuch"}, "key_name"),
            ({"networks": [{"uuid": UNKNOWN}]}, "networks"),
            ({"block_device_mapping_v2": [{"source_type": "volume", "destination_type": "volume"}]}, "volumes"),
            ({"block_device_mapping": [{"volume_id": UNKNOWN}]}, "block_device_mapping"),
            ({"trusted_image_certificates": ["a"]}, "trusted_image_certificates"),
            ({"host": "c1"}, "host"),
            ({"availability_zone": "nova:c1"}, "host"),
            ({"availability_zone": "nosuch"}, "nosuch"),
            ({"hypervisor_hostname": "nosuch"}, "nosuch"),
            ({"min_count": 3, "max_count": 2}, "min_count"),
            ({"max_count": 101}, "100"),
            ({"name": "n" * 254, "min_count": 2}, "'-2'"),
            ({"name": "n" * 253, "min_count": 1, "max_count": 10}, "252"),
            ({"hostname": "web", "min_count": 2}, "a single hostname"),
            ({"hostname": "db.example.com", "max_count": 2}, "a single hostname"),
            ({"min_count": 0}, "min_count"),
            ({"user_data": "%%%"}, "user_data"),
            ({"user_data": base64.b64encode(b"\xff\xfe").decode()}, "user_data"),
            ({"accessIPv4": "x"}, "accessIPv4"),
            ({"accessIPv6": f"fe80::1%{'a' * 100}"}, "accessIPv6"),
            ({"name": ""}, "name"),
            ({"metadata": {"a": 1}}, "metadata"),
            ({"tags": ["a,b"]}, "tags"),
            ({"unknown": 1}, "unknown"),
            ({"hints": {"same_host": [UNKNOWN]}}, "same_host"),
            ({"hints": {"group": UNKNOWN}}, "group"),
            ({"hints": {"query": "[]"}}, "query"),
            ({"hints": {"build_near_host_ip": "10.0.0.1"}}, "build_near_host_ip"),
        ]:
            with subtests.test(more=more):
                assert word in message(boot(service, flavor, image, status=400, **more))


def test_members_of_other_microversions(service: Service, flavor: str, image: str, subtests: pytest.Subtests) -> None:
    for member, value, version in [
        ("tags", ["a"], "2.51"),
        ("description", "d", "2.18"),
        ("hostname", "web", "2.89"),
        ("hypervisor_hostname", "n1", "2.73"),
        ("trusted_image_certificates", None, "2.62"),
        ("personality", [], "2.57"),
    ]:
        with subtests.test(member=member), restored(service):
            service.add_node("n1")
            answer = boot(service, flavor, image, version=version, status=400, **{member: value})
            assert member in message(answer)


def test_networks_are_needed_from_2_37(service: Service, flavor: str, image: str) -> None:
    service.add_node("n1")
    body = {"server": {"name": "s", "flavorRef": flavor, "imageRef": image}}
    assert "networks" in message(service.compute("POST", "/servers", body, version="2.37", status=400))
    service.compute("POST", "/servers", body, version="2.36", status=202)


def test_a_trait_that_one_requires_and_the_other_forbids(service: Service, image: str) -> None:
    flavor = add_flavor(service, trait__CUSTOM_A="forbidden")
    other = add_image(service, trait__CUSTOM_A="required")
    assert "CUSTOM_A" in message(boot(service, flavor, other, status=400))


def test_a_node_by_name_or_uuid(service: Service, flavor: str, image: str) -> None:
    nodes = [service.add_node(f"n{number}") for number in range(3)]
    for number, more in enumerate(
        ({"hypervisor_hostname": "n0"}, {"availability_zone": "nova::n1"}, {"availability_zone": f"::{nodes[2]}"})
    ):
        server = show(service, boot(service, flavor, image, **more).json["server"]["id"])
        assert server["OS-EXT-SRV-ATTR:hypervisor_hostname"] == nodes[number]


# -- lists -------------------------------------------------------------------------------------------------------------


def test_pages_and_filters(service: Service, flavor: str, image: str) -> None:
    nodes = [service.add_node(f"n{number}") for number in range(2)]
    uuids = [boot(service, flavor, image, name=f"web-{number}", tags=["all", f"t{number}"]).json["server"]["id"]
             for number in range(3)]  # fmt: skip
    service.work()

    def names(query: str) -> list[str]:
        return [server["name"] for server in service.compute("GET", f"/servers?{query}").json["servers"]]

    assert names("") == ["web-2", "web-1", "web-0"]
    page = service.compute("GET", "/servers?limit=2").json
    assert [server["name"] for server in page["servers"]] == ["web-2", "web-1"]
    (following,) = page["servers_links"]
    rest = service.http.get(following["href"], headers={"OpenStack-API-Version": "compute 2.100"}).json
    assert [server["name"] for server in rest["servers"]] == ["web-0"]
    assert names("sort_key=display_name&sort_dir=asc") == ["web-0", "web-1", "web-2"]
    assert names("status=ACTIVE") == ["web-1", "web-0"]
    assert names("status=error") == ["web-2"]
    assert names("status=ACTIVE&limit=1") == ["web-1"]
    assert names(f"status=ACTIVE&limit=1&marker={uuids[1]}") == ["web-0"]
    assert names("vm_state=error") == ["web-2"]
    assert names("power_state=1") == ["web-1", "web-0"]
    assert names("name=web-1") == names("name=%5Eweb-1%24") == names("name=B-1") == ["web-1"]
    assert names(f"uuid={uuids[0]}") == ["web-0"]
    assert names(f"image={image}&flavor={flavor}&deleted=False") == ["web-2", "web-1", "web-0"]
    assert names(f"image={UNKNOWN}") == names("deleted=True") == names("status=PAUSED") == []
    assert names("tags=all,t1") == ["web-1"]
    assert names("tags-any=t0,t1") == ["web-1", "web-0"]
    assert names("not-tags=all,t1") == ["web-2", "web-0"]
    assert names("not-tags-any=t0,t1") == ["web-2"]
    assert names("host=c1") == ["web-1", "web-0"]
    assert len(names(f"node={nodes[0]}")) == 1
    assert names("availability_zone=nova") == ["web-1", "web-0"]
    assert names("all_tenants=1&project_id=other") == []
    assert names("changes-since=2020-01-01T00:00:00Z") == ["web-2", "web-1", "web-0"]
    assert names("changes-before=2020-01-01T00:00:00Z") == []
    assert names("locked=true") == []


def test_queries_that_are_refused(service: Service, subtests: pytest.Subtests) -> None:
    for query in [
        "nosuch=1",
        "status=NOSUCH",
        "limit=x",
        f"marker={UNKNOWN}",
        "sort_key=vcpus",
        "name=a.*b",
        "changes-since=x",
        "changes-since=2021-01-01&changes-before=2020-01-01",
    ]:
        with subtests.test(query=query):
            message(service.compute("GET", f"/servers/detail?{query}", status=400))


@pytest.mark.parametrize("count", [1, 5])
def test_a_list_takes_as_many_statements_however_long_it_is(
    service: Service, flavor: str, image: str, count: int
) -> None:
    for number in range(count):
        service.add_node(f"n{number}")
        boot(service, flavor, image, tags=["a"])
    service.compute("GET", "/servers/detail")
    with service.statements() as statements:
        assert len(service.compute("GET", "/servers/detail").json["servers"]) == count
    assert len(statements) == 2


# -- changing ----------------------------------------------------------------------------------------------------------


def test_put_changes_what_it_may(service: Service, flavor: str, image: str) -> None:
    service.add_node("n1")
    uuid = boot(service, flavor, image).json["server"]["id"]
    body = {"server": {"name": "new", "description": None, "accessIPv4": "10.0.0.9", "hostname": "new-host"}}
    answer = service.compute("PUT", f"/servers/{uuid}", body).json["server"]
    assert (answer["name"], answer["accessIPv4"], answer["OS-EXT-SRV-ATTR:hostname"]) == ("new", "10.0.0.9", "new-host")
    assert answer == show(service, uuid)
    old = service.compute("PUT", f"/servers/{uuid}", {"server": {"name": "old"}}, version="2.1").json["server"]
    assert not any(name.startswith("OS-EXT") for name in old)
    service.compute("PUT", f"/servers/{uuid}", {"server": {"status": "ACTIVE"}}, status=400)
    service.compute("PUT", f"/servers/{UNKNOWN}", body, status=404)


def test_who_owns_a_server(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        admin = {"X-Auth-Token": "admin:ap"}
        mine = {"X-Auth-Token": "u:p", "X-Roles": "member,reader"}
        other = {"X-Auth-Token": "v:q", "X-Roles": "member,reader"}
        service.add_node("n1")
        body = {"flavor": {"name": "bm", "ram": 2048, "vcpus": 4, "disk": 20, "id": "f"}}
        service.compute("POST", "/flavors", body, headers=admin)
        specs = {"extra_specs": {"resources:CUSTOM_GOLD": "1", **ZEROS}}
        service.compute("POST", "/flavors/f/os-extra_specs", specs, headers=admin)
        body = {"server": {"name": "s", "flavorRef": "f", "imageRef": add_image(service), "networks": "none"}}
        uuid = service.compute("POST", "/servers", body, headers=mine).json["server"]["id"]
        service.work()
        shown = service.compute("GET", f"/servers/{uuid}", headers=mine).json["server"]
        assert (shown["tenant_id"], shown["user_id"]) == ("p", "u")
        assert "OS-EXT-SRV-ATTR:hypervisor_hostname" not in shown
        for method, path, sent in (
            ("GET", "", None), ("DELETE", "", None), ("POST", "/action", {"os-stop": None}), ("GET", "/tags", None),
            ("GET", "/metadata", None), ("GET", "/os-instance-actions", None),
        ):  # fmt: skip
            service.compute(method, f"/servers/{uuid}{path}", sent, headers=other, status=404)
        assert service.compute("GET", "/servers", headers=other).json["servers"] == []
        service.compute("GET", "/servers?all_tenants=1", headers=other, status=403)
        service.compute("GET", "/servers?host=c1", headers=mine, status=403)
        assert len(service.compute("GET", "/servers?all_tenants=1", headers=admin).json["servers"]) == 1
        assert service.compute("GET", "/servers", headers=admin).json["servers"] == []
        body["server"]["hypervisor_hostname"] = "n1"
        service.compute("POST", "/servers", body, headers=mine, status=403)
        service.compute("POST", f"/servers/{uuid}/action", {"lock": {"locked_reason": "why"}}, headers=mine, status=202)
        service.compute("DELETE", f"/servers/{uuid}", headers=mine, status=409)
        service.compute("DELETE", f"/servers/{uuid}", headers=admin, status=204)


def test_values_of_which_nova_builds_no_server(service: Service, flavor: str, image: str) -> None:
    """The image may have them; what would use it is refused, and nothing is changed."""
    service.add_node("n1")
    body = {"name": "v", "hw_disk_bus": "floppy", "container_format": "bare", "disk_format": "raw"}
    created = service.http.post_json("/image/v2/images", body).json["id"]
    uuid = boot(service, flavor, image).json["server"]["id"]
    service.work()
    rebuild = {"rebuild": {"imageRef": created}}
    for answer in (
        boot(service, flavor, created, status=400),
        service.compute("POST", f"/servers/{uuid}/action", rebuild, status=400),
        service.http.post_json("/scheduling/v1/requests", {"flavor": flavor, "image": created}, status=400),
    ):
        assert "hw_disk_bus" in answer.text
    assert show(service, uuid)["status"] == "ACTIVE"


def test_an_ipv6_address_has_one_form(service: Service, flavor: str, image: str) -> None:
    service.add_node("n1")
    uuid = boot(service, flavor, image, accessIPv6="2001:DB8:0:0:0::1").json["server"]["id"]
    assert show(service, uuid)["accessIPv6"] == "2001:db8::1"
    service.work()
    service.compute("PUT", f"/servers/{uuid}", {"server": {"accessIPv6": "2001:DB8:0::0:2"}})
    assert show(service, uuid)["accessIPv6"] == "2001:db8::2"
    for text, found in (("2001:DB8:0::0:2", True), ("2001:db8::", True), ("2001:DB8:0:0:1::2", False)):
        answer = service.compute("GET", f"/servers?access_ip_v6={text}").json
        assert [each["id"] for each in answer["servers"]] == [uuid] * found


def test_a_limit_of_0_and_an_unknown_status(service: Service, flavor: str, image: str) -> None:
    service.add_node("n1")
    uuid = boot(service, flavor, image).json["server"]["id"]
    for path, member in (
        ("/servers", "servers"),
        ("/servers/detail?status=BUILD&", "servers"),
        ("/flavors/detail", "flavors"),
        ("/os-keypairs", "keypairs"),
        (f"/servers/{uuid}/os-instance-actions", "instanceActions"),
    ):
        assert service.compute("GET", f"{path}{'' if '?' in path else '?'}limit=0").json[member] == []
    assert service.compute("GET", "/servers?status=NONE_SUCH", version="2.37").json == {"servers": []}
    assert "NONE_SUCH" in message(service.compute("GET", "/servers?status=NONE_SUCH", version="2.38", status=400))
