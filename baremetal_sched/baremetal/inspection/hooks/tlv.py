"""LLDP data of switches (IEEE 802.1AB): types, and values of all kinds.

Malformed data raises ValueError.
"""

import ipaddress
from collections.abc import Mapping
from typing import Any

from baremetal_sched.baremetal.inspection.rules.subject import Subject

#: Types of what a switch says about itself.
CHASSIS_ID, PORT_ID, PORT_DESCRIPTION, SYSTEM_NAME, SYSTEM_DESCRIPTION, CAPABILITIES, ADDRESS = 1, 2, 4, 5, 6, 7, 8
#: The type of what an organization has defined.
ORGANIZATIONAL = 127

#: Subtypes of CHASSIS_ID and PORT_ID: which kind of name it is. Others than these are texts.
CHASSIS_MAC, _CHASSIS_ADDRESS = 4, 5
_PORT_MAC, _PORT_ADDRESS = 3, 4
#: Families of addresses, as IANA numbers them, and how many bytes each has.
_MAC = 6
_LENGTHS = {1: 4, 2: 16, _MAC: 6}


def said_at(subject: Subject, name: str, interface: Mapping[str, Any]) -> list[Any] | None:
    """What was heard at an interface: pairs, if they are well formed. None if that was nothing."""
    raw = subject.plugin_data.get("lldp_raw")
    said = (raw.get(name) if isinstance(raw, dict) else None) or interface.get("lldp")
    return said if isinstance(said, list) else None


def decoded(pair: Any) -> tuple[int, bytes]:
    """A type and a value, of a pair that has the latter in hexadecimal digits."""
    kind, digits = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
    if not isinstance(kind, int) or not isinstance(digits, str):
        raise ValueError(f"{pair!r} is not a type and a value")
    return kind, bytes.fromhex(digits)


def chassis_id(value: bytes) -> str:
    """The value of CHASSIS_ID."""
    return _id(value, CHASSIS_MAC, _CHASSIS_ADDRESS)


def port_id(value: bytes) -> str:
    """The value of PORT_ID."""
    return _id(value, _PORT_MAC, _PORT_ADDRESS)


def _id(value: bytes, of_mac: int, of_address: int) -> str:
    subtype, name = value[0] if value else None, value[1:]
    if subtype == of_mac:
        return mac_address(name)
    return address(name) if subtype == of_address else text(name)


def address(value: bytes) -> str:
    """An address after its family."""
    family = value[0] if value else None
    length = _LENGTHS.get(family or 0)
    if length is None:
        raise ValueError(f"{value.hex()} is not an address of a known family")
    digits = value[1 : 1 + length]
    return mac_address(digits) if family == _MAC else str(ipaddress.ip_address(digits))


def mac_address(value: bytes) -> str:
    """``aa:bb:cc:dd:ee:ff``"""
    if len(value) != _LENGTHS[_MAC]:
        raise ValueError(f"{value.hex()} is not a MAC address")
    return value.hex(":")


def text(value: bytes) -> str:
    """What people can read, in one line or several."""
    found = value.decode()
    if not all(part.isprintable() for part in found.split()):
        raise ValueError(f"{found!r} is not printable text")
    return found
