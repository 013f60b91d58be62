"""The IPMI controller of a machine, as ``driver_info`` describes it."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from oslo_utils import strutils

from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine

ADDRESS, PORT = "ipmi_address", "ipmi_port"
USERNAME, PASSWORD, KG_KEY = "ipmi_username", "ipmi_password", "ipmi_hex_kg_key"
PRIVILEGE, PROTOCOL, CIPHER_SUITE = "ipmi_priv_level", "ipmi_protocol_version", "ipmi_cipher_suite"
BRIDGING = "ipmi_bridging"
FORCE_BOOT_DEVICE, DISABLE_BOOT_TIMEOUT = "ipmi_force_boot_device", "ipmi_disable_boot_timeout"

PRIVILEGES = ("ADMINISTRATOR", "CALLBACK", "OPERATOR", "USER")
#: ipmitool's interface for each version of the protocol, and the longest password there, in bytes.
_PROTOCOLS = {"2.0": ("lanplus", 20), "1.5": ("lan", 16)}
_LONGEST_USERNAME = 16
_KG_KEY_BYTES = 20

_TARGET, _TRANSIT = ("target_channel", "target_address"), ("transit_channel", "transit_address")
#: The fields that each kind of bridging requires.
_BRIDGED = {"no": (), "single": _TARGET, "dual": (*_TARGET, *_TRANSIT)}
#: Its options of ipmitool.
_BRIDGE_OPTIONS = {
    "local_address": "-m",
    "transit_channel": "-B",
    "transit_address": "-T",
    "target_channel": "-b",
    "target_address": "-t",
}

PROPERTIES = {
    ADDRESS: "IP address or host name of the IPMI controller. Required.",
    PORT: "UDP port of the controller. Default: 623.",
    USERNAME: f"User at the controller, up to {_LONGEST_USERNAME} characters. Default: the user without a name.",
    PASSWORD: "The user's password, up to 20 characters. Default: an empty one.",
    KG_KEY: "Key of the controller (Kg) for IPMI 2.0, in hexadecimal digits. Optional.",
    PRIVILEGE: f"Privilege level to ask for: {', '.join(PRIVILEGES)}. Default: ADMINISTRATOR.",
    PROTOCOL: "Version of the protocol: 2.0 or 1.5. Default: 2.0.",
    CIPHER_SUITE: "Number of the cipher suite; 3 or 17. Default: what ipmitool chooses.",
    BRIDGING: "Whether the controller is behind another one: no, single or dual. Default: no.",
    "ipmi_target_channel": "Channel to the controller. Required if ipmi_bridging is single or dual.",
    "ipmi_target_address": "Address of the controller there. Required if ipmi_bridging is single or dual.",
    "ipmi_transit_channel": "Channel on the way. Required if ipmi_bridging is dual.",
    "ipmi_transit_address": "Address on the way. Required if ipmi_bridging is dual.",
    "ipmi_local_address": "Local IPMB address, used with bridging only. Optional.",
    FORCE_BOOT_DEVICE: "Whether the controller forgets boot devices, so that it must be told each time before the "
    "machine is switched on. Default: false.",
    DISABLE_BOOT_TIMEOUT: "Whether the controller is told to keep a boot device for longer than 60 seconds. Default: "
    "[ipmi] disable_boot_timeout.",
}

_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_LONGEST_NAME = 253
_BYTE = re.compile(r"0[xX][0-9A-Fa-f]{1,2}|[0-9]{1,3}")


@dataclass(frozen=True)
class IpmiTarget:
    """A controller, the credentials for it, and its peculiarities. ``options`` are ipmitool's, without secrets."""

    address: str
    port: int
    options: tuple[str, ...]
    password: str = field(repr=False)
    kg_key: bytes = field(repr=False)
    cipher_suite: str | None
    chooses_cipher_suite: bool
    forces_boot_device: bool
    disables_boot_timeout: bool

    @classmethod
    def of(cls, machine: Machine) -> Self:
        """Return the controller of ``machine``. Raises InvalidValue, which names the field that is missing or wrong."""
        info = machine.driver_info
        protocol = _one_of(info, PROTOCOL, tuple(_PROTOCOLS), "2.0")
        lan, longest_password = _PROTOCOLS[protocol]
        address, port = _address(info), _number(info, PORT, 1, 65535)
        privilege = _one_of(info, PRIVILEGE, PRIVILEGES, PRIVILEGES[0])
        username = _text(info, USERNAME, _LONGEST_USERNAME)
        cipher_suite = _number(info, CIPHER_SUITE, 0, 255)
        if cipher_suite is not None and protocol == "1.5":
            raise _wrong(CIPHER_SUITE, f"cannot be used with {PROTOCOL} 1.5")
        options = ["-I", lan, "-H", address, "-L", privilege]
        for option, value in (("-p", port), ("-U", username), ("-C", cipher_suite)):
            if value is not None:
                options += (option, str(value))
        return cls(
            address=address,
            port=port or 623,
            options=(*options, *_bridging(info)),
            password=_text(info, PASSWORD, longest_password) or "",
            kg_key=_kg_key(info),
            cipher_suite=None if cipher_suite is None else str(cipher_suite),
            chooses_cipher_suite=cipher_suite is None and protocol == "2.0",
            forces_boot_device=_flag(info, FORCE_BOOT_DEVICE, default=False),
            disables_boot_timeout=_flag(info, DISABLE_BOOT_TIMEOUT, machine.settings.ipmi.disable_boot_timeout),
        )


def _wrong(name: str, how: str) -> InvalidValue:
    return InvalidValue(message=f"driver_info/{name} {how}.")


def _text(info: Mapping[str, Any], name: str, longest: int) -> str | None:
    value = info.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or len(value.encode(errors="replace")) > longest:
        raise _wrong(name, f"must be a text of up to {longest} bytes")
    if not value.isprintable():
        raise _wrong(name, "has characters that cannot be printed, such as line breaks")
    if name != PASSWORD and value.startswith("-"):
        raise _wrong(name, "must not begin with a hyphen")
    return value


def _address(info: Mapping[str, Any]) -> str:
    value = _text(info, ADDRESS, _LONGEST_NAME)
    if value is None:
        raise _wrong(ADDRESS, "is missing: the IP address or host name of the IPMI controller")
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        if not _HOST_NAME.fullmatch(value) or value.replace(".", "").isdigit():
            raise _wrong(ADDRESS, "must be an IP address or a host name") from None
    return value


def _one_of(info: Mapping[str, Any], name: str, known: tuple[str, ...], default: str) -> str:
    value = info.get(name)
    if value is None:
        return default
    if str(value) not in known:
        raise _wrong(name, f"must be one of {', '.join(known)}")
    return str(value)


def _number(info: Mapping[str, Any], name: str, least: int, most: int) -> int | None:
    value = info.get(name)
    if value is None or value == "":
        return None
    text = str(value)
    is_number = text.isascii() and text.isdigit() and len(text) < 9
    if isinstance(value, bool) or not is_number or not least <= int(text) <= most:
        raise _wrong(name, f"must be a number from {least} to {most}")
    return int(text)


def _flag(info: Mapping[str, Any], name: str, default: bool) -> bool:
    value = info.get(name)
    if value is None:
        return default
    try:
        return bool(strutils.bool_from_string(value, strict=True))
    except ValueError:
        raise _wrong(name, "must be true or false") from None


def _kg_key(info: Mapping[str, Any]) -> bytes:
    value = info.get(KG_KEY)
    if value is None or value == "":
        return b""
    try:
        key = bytes.fromhex(value) if isinstance(value, str) and value.isalnum() else None
    except ValueError:
        key = None
    if key is None or len(key) > _KG_KEY_BYTES:
        raise _wrong(KG_KEY, f"must be an even number of up to {2 * _KG_KEY_BYTES} hexadecimal digits")
    key = key.rstrip(b"\0")  # which a shorter key is filled up with
    if b"\0" in key:
        raise _wrong(
            KG_KEY,
            "has a zero byte (00), which ipmitool takes on its command line only, where all users of the host can read "
            "it: give the controller another key",
        )
    return key


def _bridging(info: Mapping[str, Any]) -> tuple[str, ...]:
    kind = _one_of(info, BRIDGING, tuple(_BRIDGED), "no")
    if kind == "no":
        return ()
    values = {name: info.get(f"ipmi_{name}") for name in ("local_address", *_BRIDGED[kind])}
    missing = [f"ipmi_{name}" for name in _BRIDGED[kind] if values[name] is None]
    if missing:
        raise _wrong(missing[0], f"is missing, which {BRIDGING} '{kind}' cannot do without")
    options: list[str] = []
    for name, option in _BRIDGE_OPTIONS.items():
        value = values.get(name)
        if value is not None:
            if not is_byte(value):
                raise _wrong(f"ipmi_{name}", "must be a number from 0 to 255, such as 7 or 0x72")
            options += (option, str(value))
    return tuple(options)


def is_byte(value: Any) -> bool:
    """Return whether ``value`` is a number from 0 to 255, or a text of one, decimal or hexadecimal."""
    text = str(value).lower()
    return not isinstance(value, bool) and bool(_BYTE.fullmatch(text)) and int(text, 16 if "x" in text else 10) <= 255
