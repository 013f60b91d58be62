"""LLDP, by which switches describe themselves; and ``local-link-connection``, which records the switch of a port."""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

import structlog

from baremetal_sched.baremetal.inspection.hooks.ports import ALL, mac_of
from baremetal_sched.baremetal.inspection.rules.subject import Subject
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Types of a switch's data about itself.
CHASSIS_ID, PORT_ID, PORT_DESCRIPTION, SYSTEM_NAME, SYSTEM_DESCRIPTION, CAPABILITIES, ADDRESS = 1, 2, 4, 5, 6, 7, 8
#: The type of data that an organization has defined.
ORGANIZATIONAL = 127

#: Subtypes of CHASSIS_ID and PORT_ID: which kind of name it is. Others than these are texts.
CHASSIS_MAC, _CHASSIS_ADDRESS = 4, 5
_PORT_MAC, _PORT_ADDRESS = 3, 4
#: Families of addresses, as IANA numbers them, and how many bytes each has.
_MAC = 6
_LENGTHS = {1: 4, 2: 16, _MAC: 6}


def said_at(subject: Subject, name: str, interface: Mapping[str, Any]) -> list[Any] | None:
    """Return what an interface has received by LLDP: a list of pairs, if it is well formed; None without data."""
    raw = subject.plugin_data.get("lldp_raw")
    said = (raw.get(name) if isinstance(raw, dict) else None) or interface.get("lldp")
    return said if isinstance(said, list) else None


def decoded(pair: Any) -> tuple[int, bytes]:
    """Return type and value of a pair, which has the value in hexadecimal digits. Raises ValueError."""
    kind, digits = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
    if not isinstance(kind, int) or not isinstance(digits, str):
        raise ValueError(f"{pair!r} is not a type and a value")
    return kind, bytes.fromhex(digits)


def chassis_id(value: bytes) -> str:
    """Return the value of CHASSIS_ID as text. Raises ValueError."""
    return _id(value, CHASSIS_MAC, _CHASSIS_ADDRESS)


def port_id(value: bytes) -> str:
    """Return the value of PORT_ID as text. Raises ValueError."""
    return _id(value, _PORT_MAC, _PORT_ADDRESS)


def _id(value: bytes, of_mac: int, of_address: int) -> str:
    subtype, name = value[0] if value else None, value[1:]
    if subtype == of_mac:
        return mac_address(name)
    return address(name) if subtype == of_address else text(name)


def address(value: bytes) -> str:
    """Return the address that follows its family. Raises ValueError."""
    family = value[0] if value else None
    length = _LENGTHS.get(family or 0)
    if length is None:
        raise ValueError(f"{value.hex()} is not an address of a known family")
    digits = value[1 : 1 + length]
    return mac_address(digits) if family == _MAC else str(ipaddress.ip_address(digits))


def mac_address(value: bytes) -> str:
    """Return a MAC address as ``aa:bb:cc:dd:ee:ff``. Raises ValueError."""
    if len(value) != _LENGTHS[_MAC]:
        raise ValueError(f"{value.hex()} is not a MAC address")
    return value.hex(":")


def text(value: bytes) -> str:
    """Return printable text of one or more lines. Raises ValueError."""
    found = value.decode()
    if not all(part.isprintable() for part in found.split()):
        raise ValueError(f"{found!r} is not printable text")
    return found


def set_links(subject: Subject, settings: Settings) -> None:
    """Add the parts of ``local_link_connection`` that ports do not have yet. Malformed data of a switch is ignored."""
    for name, interface in subject.plugin_data[ALL].items():
        uuid, said = subject.addresses.get(mac_of(interface)), said_at(subject, name, interface)
        if uuid is None or said is None:
            continue
        try:
            link = {**_link(said), **subject.port(uuid)["local_link_connection"]}
        except ValueError as error:
            log.warning("ignored malformed LLDP data of a switch", interface=name, reason=str(error))
            continue
        if link:
            subject.port(uuid)["local_link_connection"] = link


def _link(said: Iterable[Any]) -> Mapping[str, str]:
    """Return the parts of ``local_link_connection``. Raises ValueError."""
    link = {}
    for kind, value in map(decoded, said):
        if kind == PORT_ID:
            link["port_id"] = port_id(value)
        elif kind == CHASSIS_ID and value[:1] == bytes([CHASSIS_MAC]):
            link["switch_id"] = chassis_id(value)
        elif kind == SYSTEM_NAME:
            link["switch_info"] = text(value)
    return {name: text for name, text in link.items() if text}
