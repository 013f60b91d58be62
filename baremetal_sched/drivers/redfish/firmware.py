"""Updates of firmware, by Redfish: one after the other, each asked about until it has ended."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from baremetal_sched.drivers.interfaces.hardware import FirmwareInterface
from baremetal_sched.drivers.redfish import firmware_updates
from baremetal_sched.drivers.redfish.documents import LONGEST_TEXT, documents_of
from baremetal_sched.drivers.redfish.driver_info import RedfishInterface
from baremetal_sched.drivers.redfish.firmware_updates import BIOS, BMC, NIC_PREFIX
from baremetal_sched.drivers.steps import clean_step, deploy_step, service_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import Argument
from baremetal_sched.machines.machine import Effect, Machine

_SETTINGS = {
    "settings": Argument(
        "List of updates, each an object with a component (bios, bmc, or nic:<name>), the url of a file, and maybe a "
        "number of seconds to wait.",
        required=True,
    )
}
_KEYS = frozenset(("component", "url", "wait"))
_LONGEST_URL, _LONGEST_WAIT, _MOST_UPDATES = 2048, 86400, 64


class RedfishFirmware(RedfishInterface, FirmwareInterface):
    """Lets the controller download files and write them to the components of its machine."""

    reads_components = True

    @service_step(arguments=_SETTINGS, requires_ramdisk=False)
    @clean_step(arguments=_SETTINGS, requires_ramdisk=False)
    @deploy_step(0, abortable=False, arguments=_SETTINGS)
    def update(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        if not isinstance(settings, list) or not 0 < len(settings) <= _MOST_UPDATES:
            raise InvalidValue(message=f"settings must be a list of 1 to {_MOST_UPDATES} updates.")
        return firmware_updates.begin([_update(each) for each in settings], time.time())

    def cache_firmware_components(self, machine: Machine) -> Effect:
        with documents_of(machine) as documents:
            found = firmware_updates.read(documents)
        if not found:
            raise machine.unsupported("firmware")
        return Effect(firmware=found)

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        return firmware_updates.go_on(machine, remembered, time.time())


def _update(update: Any) -> dict[str, Any]:
    """Return the requested update. Raises InvalidValue, which does not repeat the URL, as it may contain a password."""
    if not isinstance(update, dict) or not set(update) <= _KEYS:
        raise InvalidValue(message=f"An update must be an object with {', '.join(sorted(_KEYS))} and no other keys.")
    component, url, wait = update.get("component"), update.get("url"), update.get("wait")
    if not _is_component(component):
        raise InvalidValue(
            message=f"The component of an update must be {BIOS}, {BMC}, or {NIC_PREFIX} and the name of an adapter."
        )
    if not _is_url(url):
        raise InvalidValue(message=f"The url of the update of {component} must be that of a file: http or https.")
    if wait is not None and (not isinstance(wait, int) or isinstance(wait, bool) or not 0 < wait <= _LONGEST_WAIT):
        raise InvalidValue(message=f"wait, of the update of {component}, must be from 1 to {_LONGEST_WAIT} seconds.")
    return {"component": component, "url": url, "wait": wait}


def _is_component(value: Any) -> bool:
    return value in (BIOS, BMC) or (
        isinstance(value, str)
        and value.startswith(NIC_PREFIX)
        and len(NIC_PREFIX) < len(value) <= LONGEST_TEXT
        and value.isprintable()
    )


def _is_url(value: Any) -> bool:
    if not isinstance(value, str) or not value.isprintable() or len(value) > _LONGEST_URL:
        return False
    try:
        url = urlsplit(value)
    except ValueError:
        return False
    return url.scheme.lower() in ("http", "https") and bool(url.hostname) and bool(url.path.strip("/"))
