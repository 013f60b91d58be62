"""BIOS settings, by Redfish: changes are sent, the machine is rebooted, and polled until they have been applied.

Each part is a poll of its own, so any conductor that then owns the node can continue. The controller shows
what was done already, so it is not repeated.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sushy import exceptions

from baremetal_sched import masking
from baremetal_sched.drivers.driver import switch
from baremetal_sched.drivers.interfaces.hardware import BiosInterface
from baremetal_sched.drivers.redfish import bios_settings, failures, tasks
from baremetal_sched.drivers.redfish.bios_settings import Bios
from baremetal_sched.drivers.redfish.documents import Answer, Document, Documents, documents_of, link, member
from baremetal_sched.drivers.redfish.driver_info import RedfishInterface, RedfishTarget
from baremetal_sched.drivers.steps import clean_step, deploy_step, service_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import ControllerError, MachineUnreachable, UnsupportedByDriver
from baremetal_sched.machines.interface_types import Argument
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import CLEANING, DEPLOYING, REBOOT, SERVICING

_SETTINGS = {"settings": Argument("List of BIOS settings, each an object with a name and a value.", required=True)}

#: The next phase of a step, which is remembered as ``phase``.
_SEND, _REBOOT, _AWAIT = "send", "reboot", "await"

#: The option with the time limit for applying settings, by provision state: the limit for an agent in that state.
_LIMITS = {
    CLEANING: "clean_callback_timeout",
    DEPLOYING: "deploy_callback_timeout",
    SERVICING: "service_callback_timeout",
}
#: The boot progress that counts as booted; before that nothing else is done with the machine.
_BOOTED = frozenset(("SystemHardwareInitializationComplete", "SetupEntered", "OSBootStarted", "OSRunning"))


class RedfishBios(RedfishInterface, BiosInterface):
    """Changes the settings that the controller keeps for the next boot."""

    reads_settings = True

    @service_step(arguments=_SETTINGS, requires_ramdisk=False)
    @clean_step(arguments=_SETTINGS, requires_ramdisk=False)
    @deploy_step(0, arguments=_SETTINGS)
    def apply_configuration(self, machine: Machine, settings: list[dict[str, Any]]) -> Effect:
        return Effect(poll_after=0, remember={"phase": _SEND, "wanted": bios_settings.requested_values(settings)})

    @service_step(requires_ramdisk=False)
    @clean_step(requires_ramdisk=False)
    @deploy_step(0)
    def factory_reset(self, machine: Machine) -> Effect:
        return Effect(poll_after=0, remember={"phase": _SEND})

    def cache_bios_settings(self, machine: Machine) -> Effect:
        with documents_of(machine) as documents:
            return _done(documents, _required(machine, documents))

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        phase = remembered["phase"]
        if phase == _REBOOT:
            return _rebooted(machine, remembered)
        if phase == _AWAIT:
            return _awaited(machine, remembered)
        return _sent(machine, remembered) if "wanted" in remembered else _reset(machine, remembered)


def _required(machine: Machine, documents: Documents) -> Bios:
    bios = bios_settings.find(documents)
    if bios is None:
        raise failures.refused(
            RedfishTarget.of(machine),
            "does not support bios: it offers no BIOS settings of this machine. Leave out steps of the interface bios, "
            "or install newer firmware on the controller.",
        )
    return bios


def _done(documents: Documents, bios: Bios) -> Effect:
    """Return the result of a finished step: all settings as they are now."""
    return Effect(bios=bios_settings.as_kept(bios, bios_settings.described(documents, bios)))


def _sent(machine: Machine, remembered: Mapping[str, Any]) -> Effect:
    """Send the changes, unless the settings have these values, or will have them after the next boot."""
    with documents_of(machine) as documents:
        bios = _required(machine, documents)
        registry = bios_settings.described(documents, bios)
        attributes = bios_settings.as_attributes(remembered["wanted"], bios, registry)
        waiting = bios_settings.pending(documents, bios)
        if not _unapplied(attributes, bios, waiting):
            return Effect(bios=bios_settings.as_kept(bios, registry))
        if bios.settings_path is None:
            raise failures.refused(
                RedfishTarget.of(machine), "lacks something that is needed: a place for new BIOS settings."
            )
        notes = {**remembered, "attributes": attributes, "applied": bios.applied}
        if any(name not in waiting or waiting[name] != value for name, value in attributes.items()):
            body: dict[str, Any] = {"Attributes": attributes}
            if bios.apply_time is not None:
                body["@Redfish.SettingsApplyTime"] = {"ApplyTime": bios.apply_time}
            notes["task"] = tasks.path_of(_patched(machine, documents, bios, body))
        return Effect(poll_after=0, remember={**notes, "phase": _REBOOT})


def _patched(machine: Machine, documents: Documents, bios: Bios, body: Mapping[str, Any]) -> Answer:
    try:
        return documents.patch(str(bios.settings_path), body, bios.etag)
    except exceptions.HTTPError as error:
        if error.status_code not in (400, 405, 409, 412, 422, 428):
            raise
        said = _shortened("; ".join(tasks.said_in(error.extended_info)), machine, body["Attributes"])
        raise InvalidValue(message=f"The controller refuses the settings (HTTP {error.status_code}): {said}") from error


def _shortened(said: str, machine: Machine, attributes: Mapping[str, Any]) -> str:
    """Return the controller's message about settings, without the values of passwords."""
    for name, value in attributes.items():
        if isinstance(value, str) and value and masking.names_secret(name):
            said = said.replace(value, masking.MASK)
    return failures.shortened(said, RedfishTarget.of(machine))


def _reset(machine: Machine, remembered: Mapping[str, Any]) -> Effect:
    """Reset all settings."""
    with documents_of(machine) as documents:
        bios = _required(machine, documents)
        action = member(bios.document, "Actions", "#Bios.ResetBios", "target")
        path = link({"at": {"@odata.id": action}}, "at")
        if path is None:
            raise machine.unsupported("factory_reset")
        task = tasks.path_of(documents.post(path, {}))
    return Effect(poll_after=0, remember={**remembered, "task": task, "applied": bios.applied, "phase": _REBOOT})


def _rebooted(machine: Machine, remembered: Mapping[str, Any]) -> Effect:
    """Reboot the machine; not if the settings have been applied already, by a conductor that died or at once."""
    waiting = {**remembered, "phase": _AWAIT, "since": time.time()}
    if "attributes" in remembered:
        with documents_of(machine) as documents:
            bios = _required(machine, documents)
            if not _unapplied(remembered["attributes"], bios, bios_settings.pending(documents, bios)):
                return _done(documents, bios)
    return replace(switch(machine, REBOOT), poll_after=_interval(machine), remember=waiting)


def _awaited(machine: Machine, remembered: Mapping[str, Any]) -> Effect:
    """Check whether the settings have been applied. Until then a controller may be unavailable, and may not know its
    machine when it comes back."""
    try:
        with documents_of(machine) as documents:
            bios = _required(machine, documents)
            _raise_refusal(machine, documents, bios, remembered)
            attributes = remembered.get("attributes") or {}
            left = _unapplied(attributes, bios, bios_settings.pending(documents, bios))
            if not left and _has_booted(documents.of_system):
                return _done(documents, bios)
    except (MachineUnreachable, ControllerError, UnsupportedByDriver) as error:
        return _more_time(machine, remembered, str(error))
    said = f"Attributes {', '.join(sorted(left)[:20])} are not updated." if left else "The machine is still booting."
    return _more_time(machine, remembered, said)


def _more_time(machine: Machine, remembered: Mapping[str, Any], said: str) -> Effect:
    """Look again later. Raises InvalidValue, with ``said``, if there is no time left."""
    option = _LIMITS.get(machine.provision_state, _LIMITS[CLEANING])
    limit = getattr(machine.settings.conductor, option)
    if limit and time.time() - remembered["since"] >= limit:
        raise InvalidValue(
            message=f"The BIOS settings have not been applied {limit:g} seconds after the reboot "
            f"([conductor] {option}). {said}"
        )
    return Effect(poll_after=_interval(machine), remember=remembered)


def _raise_refusal(machine: Machine, documents: Documents, bios: Bios, remembered: Mapping[str, Any]) -> None:
    """Raise InvalidValue if the controller says that it did not take the settings."""
    complaints = bios.complaints if bios.applied != remembered.get("applied") else ""
    task = remembered.get("task")
    if not complaints and task is not None:
        progress = tasks.poll(documents, task)
        if progress.outcome == "failed":
            complaints = progress.messages or progress.state
    if complaints:
        said = _shortened(complaints, machine, remembered.get("attributes") or {})
        raise InvalidValue(message=f"The BIOS settings were not applied: {said}")


def _unapplied(attributes: Mapping[str, Any], bios: Bios, waiting: Mapping[str, Any]) -> list[str]:
    """Return the settings that do not have the requested values, or will not have them after the next boot.

    A controller that lists only changes removes them from its list when they are applied; a controller that lists all
    settings does not.
    """
    lists_changes = len(waiting) < len(bios.attributes)
    return [
        name
        for name, value in attributes.items()
        if bios.attributes.get(name) != value or (name in waiting and (lists_changes or waiting[name] != value))
    ]


def _has_booted(of_system: Document) -> bool:
    """Return whether the machine has finished its self-tests, or does not report them."""
    said = member(of_system, "BootProgress", "LastState")
    return not isinstance(said, str) or said in _BOOTED or said in ("None", "OEM", "")


def _interval(machine: Machine) -> float:
    seconds: float = machine.settings.redfish.firmware_update_status_interval
    return seconds
