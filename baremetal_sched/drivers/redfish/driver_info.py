"""The Redfish controller of a machine, as ``driver_info`` describes it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine

ADDRESS, SYSTEM_ID = "redfish_address", "redfish_system_id"
USERNAME, PASSWORD = "redfish_username", "redfish_password"
VERIFY_CA, AUTH_TYPE = "redfish_verify_ca", "redfish_auth_type"

AUTH_TYPES = ("auto", "basic", "session")
#: Where a service begins unless the address has a path.
ROOT = "/redfish/v1/"

PROPERTIES = {
    ADDRESS: "URL of the Redfish controller, such as https://bmc1.example.com; https is assumed without a scheme. A "
    "path in it is where the Redfish service begins. Required.",
    SYSTEM_ID: "Path of the machine in the controller, such as /redfish/v1/Systems/1. Required if the controller has "
    "more than one.",
    USERNAME: "User at the controller. Optional.",
    PASSWORD: "The user's password. Optional.",
    VERIFY_CA: "Whether to verify the controller's certificate (true or false), or a file or folder of certificates of "
    "authorities on the conductor. Default: true.",
    AUTH_TYPE: "How to log in: basic, session, or auto, which is session if the controller has that. Default: "
    "[redfish] auth_type.",
}

#: The words that Ironic accepts for true and false.
_TRUE, _FALSE = frozenset(("1", "t", "true", "on", "y", "yes")), frozenset(("0", "f", "false", "off", "n", "no"))

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HOST = re.compile(r"[A-Za-z0-9._~%:-]+")
_LONGEST = 1024


@dataclass(frozen=True)
class RedfishTarget:
    """A machine behind a controller, with the credentials.

    ``address`` is a URL without a path, ``root`` the path of the service. ``system_id`` is None for the only machine of
    a controller.
    """

    address: str
    root: str
    system_id: str | None
    username: str | None
    password: str | None = field(repr=False)
    verify_ca: bool | str
    auth_type: str

    @classmethod
    def of(cls, machine: Machine) -> Self:
        """Return the target of ``machine``. Raises InvalidValue, which names the field that is missing or wrong."""
        info, options = machine.driver_info, machine.settings.redfish
        address, root = _address(info)
        auth_type = options.auth_type if info.get(AUTH_TYPE) is None else info[AUTH_TYPE]
        if auth_type not in AUTH_TYPES:
            raise _wrong(AUTH_TYPE, f"must be one of {', '.join(AUTH_TYPES)}")
        username, password = _text(info, USERNAME), _text(info, PASSWORD)
        if auth_type == "session" and (username is None or password is None):
            raise _wrong(
                USERNAME if username is None else PASSWORD, f"is missing, which {AUTH_TYPE} 'session' cannot do without"
            )
        return cls(address, root, _system_id(info), username, password, _verify_ca(info, options.verify_ca), auth_type)


class RedfishInterface:
    """An interface that needs no more of a machine than a valid ``driver_info``."""

    def validate(self, machine: Machine) -> None:
        """Raise InvalidValue for a missing or wrong value in ``driver_info``."""
        RedfishTarget.of(machine)


def _wrong(name: str, how: str) -> InvalidValue:
    return InvalidValue(message=f"driver_info/{name} {how}.")


def _text(info: Mapping[str, Any], name: str) -> str | None:
    value = info.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise _wrong(name, "is a number, and must be a text. Clients take digits for a text if these are in quotes")
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise _wrong(name, f"must be a text of up to {_LONGEST} characters")
    if not value.isprintable():
        raise _wrong(name, "has characters that cannot be printed, such as line breaks")
    return value


def _address(info: Mapping[str, Any]) -> tuple[str, str]:
    text = _text(info, ADDRESS)
    if text is None:
        raise _wrong(ADDRESS, "is missing: the URL of the Redfish controller, such as https://bmc1.example.com")
    example = "must be the URL of a Redfish controller, such as https://bmc1.example.com"
    if text.count(":") > 1 and not _SCHEME.match(text) and "[" not in text and "/" not in text:
        text = f"[{text}]"  # an IPv6 address
    try:
        url = urlsplit(text if _SCHEME.match(text) else f"https://{text}")
        host, port = url.hostname, url.port
    except ValueError as error:
        raise _wrong(ADDRESS, example) from error
    if url.scheme not in ("http", "https") or not host or not _HOST.fullmatch(host) or url.query or url.fragment:
        raise _wrong(ADDRESS, example)
    if "@" in url.netloc:
        raise _wrong(ADDRESS, f"must not have a user or a password in it: give {USERNAME} and {PASSWORD}")
    place = f"[{host}]" if ":" in host else host
    root = quote(url.path, safe="/%") if url.path.strip("/") else ROOT
    return f"{url.scheme}://{place}{f':{port}' if port else ''}", root if root.endswith("/") else f"{root}/"


def _system_id(info: Mapping[str, Any]) -> str | None:
    text = _text(info, SYSTEM_ID)
    if text is None:
        return None
    if not text.startswith("/") or text.startswith("//") or ".." in text.split("/"):
        raise _wrong(SYSTEM_ID, "must be a path in the controller, such as /redfish/v1/Systems/1")
    return quote(text)


def _verify_ca(info: Mapping[str, Any], default: str | None) -> bool | str:
    value = True if info.get(VERIFY_CA) is None else info[VERIFY_CA]
    if isinstance(value, str) and value.lower() in _TRUE | _FALSE:
        value = value.lower() in _TRUE
    if value is True:
        return default or True
    if value is False:
        return False
    if isinstance(value, str) and value and value.isprintable() and len(value) <= _LONGEST and _is_there(Path(value)):
        return value
    raise _wrong(
        VERIFY_CA, "must be true, false, or a file or folder of certificates that exists on the node's conductor"
    )


def _is_there(path: Path) -> bool:
    try:
        return path.is_file() or path.is_dir()
    except OSError:  # not readable for the conductor
        return False
