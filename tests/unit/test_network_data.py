"""network_data: what Nova's network_data.json may say."""

from typing import Any

import pytest

from baremetal_sched.baremetal.schemas.nodes import NODE_CREATE
from baremetal_sched.documents.schema import load
from baremetal_sched.errors import InvalidValue

MAC = "fa:16:3e:9c:bf:3d"
LINK = {"id": "eth0", "type": "phy", "ethernet_mac_address": MAC}
BOND = {**LINK, "type": "bond", "bond_mode": "802.3ad", "bond_links": ["eth0"]}
VLAN = {"id": "v", "type": "vlan", "vlan_mac_address": MAC, "vlan_id": 5, "vlan_link": "eth0"}
ROUTE = {"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "192.0.2.254"}
IPV4 = {"id": "n", "link": "eth0", "network_id": "x", "type": "ipv4", "ip_address": "192.0.2.1"}
IPV4 |= {"netmask": "255.255.255.0", "routes": [ROUTE]}
IPV6 = {"id": "n", "link": "eth0", "network_id": "x", "type": "ipv6", "ip_address": "2001:db8::1/64"}
IPV6 |= {"netmask": "ffff:ffff::", "routes": [{"network": "::", "netmask": "::", "gateway": "fe80::1"}]}
DNS = {"type": "dns", "address": "192.0.2.3"}


def document(*, links: Any = (), networks: Any = (), services: Any = ()) -> dict[str, Any]:
    return {"links": list(links), "networks": list(networks), "services": list(services)}


def check(data: Any) -> Any:
    return load(NODE_CREATE, {"driver": "fake-hardware", "network_data": data}, "node")["network_data"]


def test_what_can_be(subtests: pytest.Subtests) -> None:
    for data in [
        {},
        document(),
        document(links=[LINK, BOND, VLAN], networks=[IPV4, IPV6], services=[DNS, {**DNS, "address": "2001:db8::2"}]),
        document(links=[{**LINK, "mtu": None, "vif_id": "x", "more": 1}], networks=[{**IPV4, "type": "ipv4_dhcp"}]),
        {**document(), "more": 1},
    ]:
        with subtests.test(data=data):
            assert check(data) == data


def test_null_is_nothing() -> None:
    assert check(None) == {}


def without(whole: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in whole.items() if key != name}


def test_what_cannot_be(subtests: pytest.Subtests) -> None:
    for data, message in [
        *((without(document(), name), f"'{name}' is a required property") for name in document()),
        (document(links=[1]), "/links/0"),
        (document() | {"links": 5}, "/links"),
        *((document(links=[without(LINK, name)]), f"'{name}' is a required") for name in LINK),
        *((document(links=[without(BOND, name)]), f"'{name}' is a required") for name in BOND),
        *((document(links=[without(VLAN, name)]), f"'{name}' is a required") for name in VLAN),
        *((document(links=[{**LINK, "mtu": mtu}]), "/links/0/mtu") for mtu in (0, 65536, "x")),
        *((document(links=[{**LINK, "ethernet_mac_address": mac}]), "mac_address") for mac in ("x", MAC + "\n", 1)),
        (document(links=[{**LINK, "type": "x"}]), "/links/0/type"),
        (document(links=[{**BOND, "bond_mode": "x"}]), "bond_mode"),
        (document(links=[{**VLAN, "vlan_id": "5"}]), "vlan_id"),
        *((document(networks=[without(IPV4, name)]), name) for name in ("id", "link", "network_id", "type")),
        (document(networks=[{**IPV4, "type": "ipv6"}]), "/networks/0"),
        *((document(networks=[{**IPV4, "netmask": mask}]), "netmask") for mask in ("0.0.0.255", "24", "x")),
        *((document(networks=[{**IPV4, "ip_address": address}]), "ip_address") for address in ("::1", "x", 5)),
        (document(networks=[{**IPV6, "ip_address": "2001:db8::1/129"}]), "ip_address"),
        *((document(networks=[{**IPV4, "routes": [without(ROUTE, name)]}]), name) for name in ROUTE),
        (document(services=[{**DNS, "address": "x"}]), "address"),
        (document(services=[{**DNS, "type": "ntp"}]), "type"),
    ]:
        with subtests.test(data=data):
            with pytest.raises(InvalidValue, match="Invalid network_data") as error:
                check(data)
            assert message in str(error.value)
