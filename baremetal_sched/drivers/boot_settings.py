"""How a machine boots its instance, as the node and the instance request it, and the URLs of images."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine, together
from baremetal_sched.machines.states import BOOT_MODES

_MODE, _SECURE = "boot_mode", "secure_boot"

#: The longest URL, in characters. Controllers accept shorter ones at most.
_LONGEST = 2048


def required_mode(machine: Machine) -> str | None:
    """Return the boot mode that the instance asks for, or else the node, or None.

    Secure boot needs "uefi". Raises InvalidValue for an invalid boot mode.
    """
    instance = capabilities(machine.instance_info)
    mode = "uefi" if wants_secure_boot(machine) else None
    mode = mode or instance.get(_MODE) or machine.instance_info.get("deploy_boot_mode")
    mode = mode or capabilities(machine.properties).get(_MODE)
    if mode and mode not in BOOT_MODES:
        raise InvalidValue(message=f"The capability {_MODE} must be one of {', '.join(BOOT_MODES)}.")
    return mode or None


def wants_secure_boot(machine: Machine) -> bool:
    """Return whether the instance asks for secure boot."""
    return str(capabilities(machine.instance_info).get(_SECURE, "")).lower() == "true"


def apply(machine: Machine, device: str, *, persistent: bool, secure: bool = True) -> Effect:
    """Have the machine boot from ``device``, in the requested boot mode, and with secure boot if that is requested.

    ``secure``: whether secure boot is switched on now. Raises a SchedulerError.
    """
    management = Driver(machine).management
    mode = required_mode(machine)
    done: list[Effect] = []
    if mode is not None and mode != machine.boot_mode:
        done.append(management.set_boot_mode(machine, mode))
    if secure and wants_secure_boot(machine) and machine.secure_boot is not True:
        done.append(management.set_secure_boot(machine, True))
    return together(*done, management.set_boot_device(machine, device, persistent=persistent))


def take_back(machine: Machine) -> Effect | None:
    """Switch secure boot off again, if the instance asked for it and got it. Raises a SchedulerError."""
    if not wants_secure_boot(machine) or not machine.secure_boot:
        return None
    return Driver(machine).management.set_secure_boot(machine, False)


def capabilities(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``capabilities`` of a node's properties or instance_info: an object, the same as a text of JSON, or
    ``name:value,name:value``. A malformed value counts as empty."""
    found = info.get("capabilities")
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            pairs = (item.partition(":") for item in str(found).split(","))
            return {name.strip(): value.strip() for name, _, value in pairs}
    return found if isinstance(found, Mapping) else {}


@dataclass(frozen=True)
class ImageUrl:
    """The location of an image. ``url`` has neither user nor password; these are fields of their own."""

    url: str
    scheme: str
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(
        cls,
        name: str,
        value: Any,
        schemes: Collection[str] = ("http", "https"),
        *,
        reader: str = "machine's management controller",
        longest: int = _LONGEST,
    ) -> Self:
        """The URL ``value``, of the field ``name``, which ``reader`` fetches. Raises InvalidValue, which does not
        repeat it."""
        if not isinstance(value, str) or not value.isprintable() or " " in value or len(value) > longest:
            raise InvalidValue(message=f"{name} must be a URL of up to {longest} characters, without blanks.")
        try:
            address = urlsplit(value)
            host = address.hostname
            _ = address.port
        except ValueError as error:
            raise InvalidValue(message=f"{name} is not a URL.") from error
        if address.scheme not in schemes or not host:
            raise InvalidValue(
                message=f"{name} must be a URL that the {reader} can fetch by itself, with one of these schemes: "
                f"{', '.join(schemes)}."
            )
        place = address.netloc.rpartition("@")[2]
        return cls(
            url=address._replace(netloc=place).geturl(),
            scheme=address.scheme,
            username=unquote(address.username) if address.username else None,
            password=unquote(address.password) if address.password else None,
        )

    @property
    def without_query(self) -> str:
        """Return the URL for messages, without its query, which may be a signature."""
        return self.url.partition("?")[0].partition("#")[0]
