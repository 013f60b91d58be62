"""``parse-lldp``: everything that switches report by LLDP, in a form that people and rules can read.

Besides the data that every switch sends (IEEE 802.1AB), this is the data that IEEE 802.1Q and 802.3 define. Names
are Ironic's.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import structlog

from baremetal_sched.baremetal.inspection.hooks import lldp
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

MAU_TYPES = (
    *("Unknown", "AUI", "10BASE-5", "FOIRL", "10BASE-2", "10BASE-T duplex mode unknown", "10BASE-FP", "10BASE-FB"),
    *("10BASE-FL duplex mode unknown", "10BROAD36", "10BASE-T half duplex", "10BASE-T full duplex"),
    *("10BASE-FL half duplex", "10BASE-FL full duplex", "100 BASE-T4", "100BASE-TX half duplex"),
    *("100BASE-TX full duplex", "100BASE-FX half duplex", "100BASE-FX full duplex", "100BASE-T2 half duplex"),
    *("100BASE-T2 full duplex", "1000BASE-X half duplex", "1000BASE-X full duplex", "1000BASE-LX half duplex"),
    *("1000BASE-LX full duplex", "1000BASE-SX half duplex", "1000BASE-SX full duplex", "1000BASE-CX half duplex"),
    *("1000BASE-CX full duplex", "1000BASE-T half duplex", "1000BASE-T full duplex", "10GBASE-X", "10GBASE-LX4"),
    *("10GBASE-R", "10GBASE-ER", "10GBASE-LR", "10GBASE-SR", "10GBASE-W", "10GBASE-EW", "10GBASE-LW", "10GBASE-SW"),
    *("10GBASE-CX4", "2BASE-TL", "10PASS-TS", "100BASE-BX10D", "100BASE-BX10U", "100BASE-LX10", "1000BASE-BX10D"),
    *("1000BASE-BX10U", "1000BASE-LX10", "1000BASE-PX10D", "1000BASE-PX10U", "1000BASE-PX20D", "1000BASE-PX20U"),
)


#: The key of the plugin data; the value has the details by interface.
_PARSED = "parsed_lldp"
#: These may occur several times and become lists; of everything else the first one counts.
_LISTS = frozenset(
    (
        *("switch_mgmt_addresses", "switch_port_protocol_vlan_ids", "switch_port_vlans"),
        "switch_protocol_identities",
    )
)

Details = dict[str, Any]

#: Names of bits, beginning with the lowest. The lowest capability means "other" and has no name.
_CAPABILITIES = (
    *(None, "Repeater", "Bridge", "WLAN", "Router", "Telephone", "DOCSIS cable device", "Station only"),
    *("C-Vlan", "S-Vlan", "TPMR"),
)
_SPEEDS = (
    *("1000BASE-T fdx", "1000BASE-T hdx", "1000BASE-X fdx", "1000BASE-X hdx", "Asym and Sym PAUSE fdx"),
    *("Sym PAUSE fdx", "Asym PAUSE fdx", "PAUSE fdx", "100BASE-T2 fdx", "100BASE-T2 hdx", "100BASE-TX fdx"),
    *("100BASE-TX hdx", "10BASE-T4", "10BASE-T fdx", "10BASE-T hdx"),
)


def parse(subject: Subject, settings: Settings) -> None:
    """Record in the plugin data what each interface has received. Malformed data is ignored."""
    interfaces = subject.inventory.get("interfaces")
    for interface in interfaces if isinstance(interfaces, list) else ():
        name = interface.get("name") if isinstance(interface, dict) else None
        if not isinstance(name, str):
            continue
        details = _details(name, lldp.said_at(subject, name, interface) or ())
        if details:
            _noted(subject)[name] = details


def _noted(subject: Subject) -> Details:
    noted = subject.plugin_data.get(_PARSED)
    if not isinstance(noted, dict):
        noted = subject.plugin_data[_PARSED] = {}
    return noted


def _details(interface: str, said: Iterable[Any]) -> Details:
    details: Details = {}
    for pair in said:
        try:
            found = _read(*lldp.decoded(pair))
        except ValueError as error:
            log.warning("ignored malformed LLDP data of a switch", interface=interface, reason=str(error))
            continue
        for name, value in found.items():
            if name in _LISTS:
                details.setdefault(name, []).append(value)
            else:
                details.setdefault(name, value)
    return details


def _read(kind: int, value: bytes) -> Details:
    read = _ORGANIZATIONAL.get(value[:4].hex()) if kind == lldp.ORGANIZATIONAL else _BASIC.get(kind)
    if read is None:
        return {}
    return read(value[4:] if kind == lldp.ORGANIZATIONAL else value)


def _capabilities(value: bytes) -> Details:
    supported, enabled = _numbers(value, 2, 2)
    return {
        "switch_capabilities_support": _named(supported, _CAPABILITIES),
        "switch_capabilities_enabled": _named(enabled, _CAPABILITIES),
    }


def _protocol_vlan(value: bytes) -> Details:
    flags, vlan_id = _numbers(value, 1, 2)
    return {
        "switch_port_protocol_vlan_enabled": _bit(flags, 2),
        "switch_port_protocol_vlan_support": _bit(flags, 1),
        "switch_port_protocol_vlan_ids": vlan_id,
    }


def _vlan(value: bytes) -> Details:
    name = lldp.text(_counted(value[2:]))
    return {"switch_port_vlans": {"name": name, "id": _number(value)}}


def _link_aggregation(value: bytes) -> Details:
    flags, port = _numbers(value, 1, 4)
    return {
        "switch_port_link_aggregation_enabled": _bit(flags, 1),
        "switch_port_link_aggregation_support": _bit(flags, 0),
        "switch_port_link_aggregation_id": port,
    }


def _physical(value: bytes) -> Details:
    flags, speeds, mau_type = _numbers(value, 1, 2, 2)
    details = {
        "switch_port_autonegotiation_enabled": _bit(flags, 1),
        "switch_port_autonegotiation_support": _bit(flags, 0),
        "switch_port_physical_capabilities": sorted(_named(speeds, _SPEEDS)),
    }
    return details | ({"switch_port_mau_type": MAU_TYPES[mau_type]} if mau_type < len(MAU_TYPES) else {})


def _named(bits: int, names: Iterable[str | None]) -> list[str]:
    return [name for position, name in enumerate(names) if name is not None and _bit(bits, position)]


def _bit(bits: int, position: int) -> bool:
    return bool(bits >> position & 1)


def _number(value: bytes, length: int = 2) -> int:
    """Return the number at the beginning of the value. Raises ValueError."""
    if len(value) < length:
        raise ValueError(f"{value.hex()!r} is shorter than {length} bytes")
    return int.from_bytes(value[:length])


def _numbers(value: bytes, *lengths: int) -> list[int]:
    """Return the numbers that the value consists of, each with the given number of bytes."""
    if len(value) != sum(lengths):
        raise ValueError(f"{value.hex()!r} does not have {sum(lengths)} bytes")
    starts = [sum(lengths[:index]) for index in range(len(lengths))]
    return [_number(value[start:], length) for start, length in zip(starts, lengths, strict=True)]


def _counted(value: bytes) -> bytes:
    """Return the bytes that follow a byte with their number. Raises ValueError."""
    count = _number(value, 1)
    if len(value) <= count:
        raise ValueError(f"{value.hex()!r} has fewer than {count} bytes after the first")
    return value[1 : 1 + count]


def _one(name: str, read: Callable[[bytes], Any]) -> Callable[[bytes], Details]:
    return lambda value: {name: read(value)}


_BASIC: Mapping[int, Callable[[bytes], Details]] = {
    lldp.CHASSIS_ID: _one("switch_chassis_id", lldp.chassis_id),
    lldp.PORT_ID: _one("switch_port_id", lldp.port_id),
    lldp.PORT_DESCRIPTION: _one("switch_port_description", lldp.text),
    lldp.SYSTEM_NAME: _one("switch_system_name", lldp.text),
    lldp.SYSTEM_DESCRIPTION: _one("switch_system_description", lldp.text),
    lldp.CAPABILITIES: _capabilities,
    lldp.ADDRESS: _one("switch_mgmt_addresses", lambda value: lldp.address(value[1:])),
}
#: By organization and subtype: 00-80-C2 is IEEE 802.1, 00-12-0F is IEEE 802.3.
_ORGANIZATIONAL: Mapping[str, Callable[[bytes], Details]] = {
    "0080c201": _one("switch_port_untagged_vlan_id", _number),
    "0080c202": _protocol_vlan,
    "0080c203": _vlan,
    "0080c204": _one("switch_protocol_identities", lambda value: _counted(value).hex()),
    "0080c206": _one("switch_port_management_vlan_id", _number),
    "0080c207": _link_aggregation,
    "00120f01": _physical,
    "00120f03": _link_aggregation,
    "00120f04": _one("switch_port_mtu", _number),
}
