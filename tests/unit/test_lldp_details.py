"""LLDP data of switches, made readable."""

from typing import Any

import pytest

from baremetal_sched.baremetal.inspection.hooks import lldp_details
from baremetal_sched.baremetal.inspection.hooks.lldp_details import MAU_TYPES
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.settings import load

IEEE_802_1, IEEE_802_3 = "0080c2", "00120f"


def parsed(interfaces: Any, **plugin_data: Any) -> Any:
    subject = Subject({}, [], {"interfaces": interfaces}, plugin_data)
    lldp_details.parse(subject, load())
    return subject.plugin_data.get("parsed_lldp")


def details(*said: Any) -> Any:
    return (parsed([{"name": "eth0", "lldp": list(said)}]) or {"eth0": {}})["eth0"]


def test_what_is_said(subtests: pytest.Subtests) -> None:
    for kind, digits, expected in [
        (1, "04aabbccddeeff", {"switch_chassis_id": "aa:bb:cc:dd:ee:ff"}),
        (1, "0501c0000201", {"switch_chassis_id": "192.0.2.1"}),
        (1, "0502fe80" + "00" * 13 + "01", {"switch_chassis_id": "fe80::1"}),
        (1, "0506aabbccddeeff", {"switch_chassis_id": "aa:bb:cc:dd:ee:ff"}),
        (1, "07726f77", {"switch_chassis_id": "row"}),
        (2, "0365666768696a", {"switch_port_id": "65:66:67:68:69:6a"}),
        (2, "0401c0000201", {"switch_port_id": "192.0.2.1"}),
        (2, "05657468", {"switch_port_id": "eth"}),
        (3, "0078", {}),
        (4, "c3a4", {"switch_port_description": "ä"}),
        (5, "737731", {"switch_system_name": "sw1"}),
        (6, "610d0a0962", {"switch_system_description": "a\r\n\tb"}),
        (
            7,
            "07ff0014",
            {
                "switch_capabilities_support": [
                    *("Repeater", "Bridge", "WLAN", "Router", "Telephone", "DOCSIS cable device", "Station only"),
                    *("C-Vlan", "S-Vlan", "TPMR"),
                ],
                "switch_capabilities_enabled": ["Bridge", "Router"],
            },
        ),
        (8, "0501c0000201020000000300", {"switch_mgmt_addresses": ["192.0.2.1"]}),
        (127, IEEE_802_1 + "01" + "0066", {"switch_port_untagged_vlan_id": 102}),
        (
            127,
            IEEE_802_1 + "02" + "020007",
            {
                "switch_port_protocol_vlan_enabled": False,
                "switch_port_protocol_vlan_support": True,
                "switch_port_protocol_vlan_ids": [7],
            },
        ),
        (127, IEEE_802_1 + "03" + "0065" + "03" + "766c6e", {"switch_port_vlans": [{"name": "vln", "id": 101}]}),
        (127, IEEE_802_1 + "04" + "02" + "888e" + "00", {"switch_protocol_identities": ["888e"]}),
        (127, IEEE_802_1 + "06" + "1000", {"switch_port_management_vlan_id": 4096}),
        *(
            (
                127,
                start + "02" + "00000012",
                {
                    "switch_port_link_aggregation_enabled": True,
                    "switch_port_link_aggregation_support": False,
                    "switch_port_link_aggregation_id": 18,
                },
            )
            for start in (IEEE_802_1 + "07", IEEE_802_3 + "03")
        ),
        (
            127,
            IEEE_802_3 + "01" + "01" + "2001" + "001e",
            {
                "switch_port_autonegotiation_enabled": False,
                "switch_port_autonegotiation_support": True,
                "switch_port_physical_capabilities": ["1000BASE-T fdx", "10BASE-T fdx"],
                "switch_port_mau_type": "1000BASE-T full duplex",
            },
        ),
        (
            127,
            IEEE_802_3 + "01" + "02" + "5000" + "ffff",
            {
                "switch_port_autonegotiation_enabled": True,
                "switch_port_autonegotiation_support": False,
                "switch_port_physical_capabilities": ["10BASE-T hdx", "10BASE-T4"],
            },
        ),
        (127, IEEE_802_3 + "04" + "05ee", {"switch_port_mtu": 1518}),
        (127, IEEE_802_3 + "77" + "05ee", {}),
        (127, "aabbcc" + "01" + "05ee", {}),
        (0, "", {}),
        (99, "00", {}),
    ]:
        with subtests.test(kind=kind, digits=digits):
            assert details([kind, digits]) == expected


def test_what_is_not_well_formed_does_not_count(subtests: pytest.Subtests) -> None:
    for pair in [
        *([1, "04aabb"], [1, "0509c0000201"], [1, "0501c000"], [2, "03aabb"], [1, "05"], [5, "ff"], [5, "6100"]),
        *([7, "0014"], [7, "001400140014"], [8, "05"], [8, ""], [8, "0509c0000201"], [5, "zz"], [5, 5], ["5", "61"]),
        *(
            [127, start + rest]
            for start in (IEEE_802_1, IEEE_802_3)
            for rest in ("", "01", "0100", "0200", "03", "030065", "0300650561", "04", "0409", "06", "0600", "0700")
        ),
        *([5], "x", None, 5, [5, "61", "62"]),
    ]:
        with subtests.test(pair=pair):
            assert details(pair, [5, "737731"]) == {"switch_system_name": "sw1"}


def test_what_is_said_twice() -> None:
    assert details([5, "61"], [5, "62"], [8, "0501c0000201"], [8, "0706aabbccddeeff"]) == {
        "switch_system_name": "a",
        "switch_mgmt_addresses": ["192.0.2.1", "aa:bb:cc:dd:ee:ff"],
    }


def test_interfaces() -> None:
    """Data that an old agent put elsewhere comes first; interfaces without data are left out."""
    interfaces = [
        {"name": "eth0", "lldp": [[5, "61"]]},
        {"name": "eth1", "lldp": [[5, "62"]]},
        {"name": "eth2", "lldp": []},
        {"name": "eth3", "lldp": "x"},
        {"name": 4, "lldp": [[5, "61"]]},
        "eth5",
    ]
    assert parsed(interfaces, lldp_raw={"eth1": [[5, "63"]]}) == {
        "eth0": {"switch_system_name": "a"},
        "eth1": {"switch_system_name": "c"},
    }
    assert parsed(None) is None
    assert parsed(interfaces[:1], parsed_lldp=[]) == {"eth0": {"switch_system_name": "a"}}


def test_types_of_ports() -> None:
    """As RFC 4836 numbers them."""
    assert [MAU_TYPES[number] for number in (0, 11, 16, 30, 36, 41, 53)] == [
        *("Unknown", "10BASE-T full duplex", "100BASE-TX full duplex", "1000BASE-T full duplex", "10GBASE-SR"),
        *("10GBASE-CX4", "1000BASE-PX20U"),
    ]
