"""``local-link-connection``: which port of which switch is at the other end, as that says by LLDP (IEEE 802.1AB)."""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

import structlog

from baremetal_sched.baremetal.hooks.interfaces import ALL, mac_of
from baremetal_sched.baremetal.rules.subject import Subject
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Types of what a switch says about itself.
_CHASSIS_ID, _PORT_ID, _SYSTEM_NAME = 1, 2, 5
#: Subtypes of the first two: which kind of name it is. Others than these are texts.
_CHASSIS_MAC, _PORT_MAC, _PORT_ADDRESS = 4, 3, 4
#: Bytes in a MAC address.
_MAC_LENGTH = 6


def set_links(subject: Subject, settings: Settings) -> None:
    """Set what is not known yet of ``local_link_connection`` of the ports. What a switch says and is not well formed
    does not count."""
    raw = subject.plugin_data.get("lldp_raw")
    for name, interface in subject.plugin_data[ALL].items():
        uuid = subject.addresses.get(mac_of(interface))
        said = (raw.get(name) if isinstance(raw, dict) else None) or interface.get("lldp")
        if uuid is None or not isinstance(said, list):
            continue
        try:
            link = {**_link(said), **subject.port(uuid)["local_link_connection"]}
        except ValueError as error:
            log.warning("what a switch says is not understood", interface=name, reason=str(error))
            continue
        if "port_id" in link and ("switch_id" in link or "hostname" in link):
            subject.port(uuid)["local_link_connection"] = link


def _link(said: Iterable[Any]) -> Mapping[str, str]:
    """Parts of a link from pairs of a type and a value in hexadecimal digits. Raises ValueError."""
    link = {}
    for pair in said:
        kind, digits = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
        if not isinstance(digits, str):
            raise ValueError(f"{pair!r} is not a type and a value")
        value = bytes.fromhex(digits)
        if kind == _PORT_ID:
            link["port_id"] = _port_id(value)
        elif kind == _CHASSIS_ID and value[:1] == bytes([_CHASSIS_MAC]):
            link["switch_id"] = _mac(value[1:])
        elif kind == _SYSTEM_NAME:
            link["switch_info"] = _text(value)
    return {name: text for name, text in link.items() if text}


def _port_id(value: bytes) -> str:
    subtype, name = value[0] if value else None, value[1:]
    if subtype == _PORT_MAC:
        return _mac(name)
    if subtype == _PORT_ADDRESS:
        # The first byte is the family, which its length tells as well.
        return str(ipaddress.ip_address(name[1:]))
    return _text(name)


def _text(value: bytes) -> str:
    text = value.decode()
    if not text.isprintable():
        raise ValueError(f"{text!r} is no text")
    return text


def _mac(value: bytes) -> str:
    if len(value) != _MAC_LENGTH:
        raise ValueError(f"{value.hex()} is no MAC address")
    return value.hex(":")
