"""Updates of firmware in parts: each part is a poll, and remembers what the next part needs.

An update is sent, and its task polled until it has ended; the machine is rebooted if its kind of component needs that,
and the controller must be usable again before the next one. During an update a controller may be unavailable, as it is
during its own update.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from sushy import exceptions

from baremetal_sched.drivers.driver import switch
from baremetal_sched.drivers.redfish import failures, tasks
from baremetal_sched.drivers.redfish.documents import (
    LONGEST_TEXT,
    Answer,
    Document,
    Documents,
    documents_of,
    link,
    links,
    member,
    objects,
    text,
)
from baremetal_sched.drivers.redfish.driver_info import RedfishTarget
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import ControllerError, MachineUnreachable
from baremetal_sched.machines.machine import Effect, Firmware, Machine
from baremetal_sched.machines.states import REBOOT

BIOS, BMC, NIC_PREFIX = "bios", "bmc", "nic:"

#: The notes of a step: the ``updates``, which of them it is ``at``, since when (``began``), the ``phase``, and notes of
#: the update: ``tasks`` that were there before, its ``task``, whether the machine was ``rebooted`` for it, what comes
#: ``then``, since when it waits for something, and how often that was found.
Remembered = Mapping[str, Any]
_UPDATES = frozenset(("updates", "at", "began"))
#: States of a task in which a BIOS waits for the machine to be rebooted.
_BEGUN = ("Starting", "Running", "Pending")


def read(documents: Documents) -> dict[str, Firmware]:
    """Return the components that the controller reports, by name. Raises sushy's errors."""
    found = {}
    bios = text(documents.of_system.get("BiosVersion"))
    if bios is not None:
        found[BIOS] = Firmware(bios)
    manager = manager_of(documents)
    version = text(member(manager, "FirmwareVersion"))
    if version is not None:
        found[BMC] = Firmware(version, model=text(member(manager, "Model")))
    for adapter in _adapters(documents):
        _add_adapter(found, adapter)
    return found


def controller_version(documents: Documents) -> str | None:
    """Return the version of the controller's own firmware; None if it is not reported. Raises sushy's errors."""
    return text(member(manager_of(documents), "FirmwareVersion"))


def manager_of(documents: Documents) -> Document | None:
    """Return the controller itself; None if it is not listed. Raises sushy's errors."""
    paths = links(documents.of_system, "Links", "ManagedBy")
    if not paths:
        managers = documents.find(link(documents.find(documents.root), "Managers"))
        paths = links(managers, "Members")
    return documents.find(paths[0]) if paths else None


def _adapters(documents: Documents) -> Iterator[Document]:
    chassis = links(documents.of_system, "Links", "Chassis")
    first = documents.find(chassis[0]) if chassis else None
    return documents.members(documents.find(link(first, "NetworkAdapters")))


def _add_adapter(firmware: dict[str, Firmware], adapter: Document) -> None:
    serial_number = text(adapter.get("SerialNumber"))
    name = serial_number or text(adapter.get("Id"))
    for controller in objects(adapter.get("Controllers")):
        version = text(controller.get("FirmwarePackageVersion"))
        component = f"{NIC_PREFIX}{name}"[:LONGEST_TEXT]
        if name is None or version is None or component.lower() in {known.lower() for known in firmware}:
            continue  # databases keep no two names that differ in case only
        vendor, model = text(adapter.get("Manufacturer")), text(adapter.get("Model"))
        firmware[component] = Firmware(version, vendor, model, serial_number)


def begin(updates: list[dict[str, Any]], now: float) -> Effect:
    """Begin with these updates."""
    return Effect(poll_after=0, remember={"updates": updates, "at": 0, "began": now, "phase": "prepare"})


def go_on(machine: Machine, remembered: Remembered, now: float) -> Effect:
    """Do the next part, or check its progress. Raises InvalidValue or ControllerError if an update has failed, and
    MachineUnreachable if no update was begun."""
    limit = machine.settings.redfish.firmware_update_overall_timeout
    if limit and now - remembered["began"] >= limit:
        said = f"it has not ended after {limit:g} seconds ([redfish] firmware_update_overall_timeout)."
        raise _failure(remembered, f"{said} {remembered.get('trouble') or ''}".rstrip())
    try:
        return _PHASES[remembered["phase"]](machine, remembered, now)
    except (MachineUnreachable, ControllerError) as error:
        if not _may_come_back(remembered, error):
            raise
        return Effect(poll_after=_interval(machine), remember={**remembered, "trouble": str(error)})


def _may_come_back(remembered: Remembered, error: MachineUnreachable | ControllerError) -> bool:
    """Return whether a retry may help. A controller that restarts may be unavailable, and not know its machine at
    first."""
    if remembered["phase"] == "send":
        # Without a list of tasks it is unknown whether the update has begun.
        return isinstance(error, MachineUnreachable) and remembered["tasks"] is not None
    return bool(remembered["phase"] != "prepare" or remembered["at"] > 0)


def _next(remembered: Remembered, phase: str, seconds: float, **notes: Any) -> Effect:
    return Effect(poll_after=seconds, remember={**remembered, **notes, "phase": phase})


def _prepare(machine: Machine, remembered: Remembered, now: float) -> Effect:
    """Remember the tasks and the version from before the update."""
    with documents_of(machine) as documents:
        if _action(documents) is None:
            raise machine.unsupported("firmware update")
        before = controller_version(documents) if _component(remembered) == BMC else None
        known = tasks.known(documents)
    return _next(remembered, "send", 0, tasks=known, before=before)


def _send(machine: Machine, remembered: Remembered, now: float) -> Effect:
    """Request the update, unless a conductor that died has requested it already, which a new task shows."""
    with documents_of(machine) as documents:
        known = remembered["tasks"]
        new = [path for path in tasks.known(documents) or () if path not in known] if known is not None else []
        try:
            task = new[-1] if new else tasks.path_of(_simple_update(documents, machine, _update(remembered)["url"]))
        except exceptions.ServerSideError as error:
            said = failures.shortened("; ".join(tasks.said_in(error.extended_info)), RedfishTarget.of(machine))
            raise _failure(
                remembered, f"the controller does not begin it (HTTP {error.status_code}): {said}"
            ) from error
    if task is None:
        return _ended(machine, {**remembered, "rebooted": False}, now)
    return _next(remembered, "task", _interval(machine), task=task, rebooted=False, starting_since=None)


def _simple_update(documents: Documents, machine: Machine, url: str) -> Answer:
    action = _action(documents)
    path = None if action is None else link({"at": {"@odata.id": action.get("target")}}, "at")
    if action is None or path is None:
        raise machine.unsupported("firmware update")
    body: dict[str, Any] = {"ImageURI": url}
    protocol, allowed = urlsplit(url).scheme.upper(), action.get("TransferProtocol@Redfish.AllowableValues")
    if not isinstance(allowed, list) or protocol in allowed:
        body["TransferProtocol"] = protocol
    targets = [RedfishTarget.of(machine).system_id or link(documents.of_system)]
    systems = documents.find(link(documents.find(documents.root), "Systems"))
    if len(links(systems, "Members")) > 1:
        return documents.post(path, {**body, "Targets": targets})
    try:
        return documents.post(path, body)
    except exceptions.BadRequestError as error:
        if "target" not in str(error).lower():
            raise
        return documents.post(path, {**body, "Targets": targets})


def _action(documents: Documents) -> Mapping[str, Any] | None:
    service = documents.find(link(documents.find(documents.root), "UpdateService"))
    found = member(service, "Actions", "#UpdateService.SimpleUpdate")
    return found if isinstance(found, dict) else None


def _task(machine: Machine, remembered: Remembered, now: float) -> Effect:
    """Check the progress of the task. The machine is rebooted at once for a BIOS, and for an adapter whose update does
    not begin."""
    with documents_of(machine) as documents:
        progress = tasks.poll(documents, remembered["task"])
    if progress.outcome == "failed":
        said = failures.shortened(progress.messages or "it gives no reason", RedfishTarget.of(machine))
        raise _failure(remembered, f"the task of the controller ended in the state {progress.state[:40]}: {said}")
    if progress.outcome in ("done", "gone"):
        return _ended(machine, remembered, now)
    component, again = _component(remembered), _next(remembered, "task", _interval(machine))
    if remembered["rebooted"] or component == BMC:
        return again
    if component == BIOS:
        return _next(remembered, "reboot", 0, then="task") if progress.state in _BEGUN else again
    if progress.state != "Starting":
        return again
    since = remembered["starting_since"] or now
    if now - since >= machine.settings.redfish.firmware_update_nic_starting_wait:
        return _next(remembered, "reboot", 0, then="task")
    return _next(remembered, "task", _interval(machine), starting_since=since)


def _ended(machine: Machine, remembered: Remembered, now: float) -> Effect:
    """The task has succeeded, or the controller has forgotten it."""
    wait = _update(remembered)["wait"]
    if _component(remembered) == BMC:
        return _next(remembered, "version", 0, since=now)
    if not remembered["rebooted"]:
        return _next(remembered, "reboot", 0, then="settle")
    return _next(remembered, "settle", wait or 0, **_settling(now + (wait or 0)))


def _reboot(machine: Machine, remembered: Remembered, now: float) -> Effect:
    switched = switch(machine, REBOOT)
    wait = (_update(remembered)["wait"] or 0) if remembered["then"] == "settle" else 0
    seconds = max(_interval(machine), wait)
    again = _next(remembered, remembered["then"], seconds, rebooted=True, **_settling(now + seconds))
    return replace(switched, poll_after=again.poll_after, remember=again.remember)


def _version(machine: Machine, remembered: Remembered, now: float) -> Effect:
    """Wait until the controller shows its new version; reboot the machine if it never does, or more updates follow."""
    options = machine.settings.redfish
    try:
        with documents_of(machine) as documents:
            version = controller_version(documents)
    except (MachineUnreachable, ControllerError):
        version = None
    before = remembered["before"]
    if version is not None and before is not None and version != before:
        is_last = remembered["at"] + 1 == len(remembered["updates"])
        if is_last:
            return _next(remembered, "settle", 0, **_settling(now))
        return _next(remembered, "reboot", 0, then="settle")
    if now - remembered["since"] < (_update(remembered)["wait"] or options.firmware_update_reboot_delay):
        return _next(remembered, "version", options.firmware_update_bmc_version_check_interval)
    if version is not None and version == before:
        return _next(remembered, "settle", 0, **_settling(now))
    return _next(remembered, "reboot", 0, then="settle")


def _settling(now: float) -> dict[str, Any]:
    return {"since": now, "found": 0, "trouble": ""}


def _settle(machine: Machine, remembered: Remembered, now: float) -> Effect:
    """Continue when the controller has been usable for long enough."""
    options = machine.settings.redfish
    required, limit = options.firmware_update_required_successes, options.firmware_update_resource_validation_timeout
    found, trouble = remembered["found"], remembered["trouble"]
    components = {}
    try:
        with documents_of(machine) as documents:
            components = read(documents)
        found += 1
    except (MachineUnreachable, ControllerError) as error:
        found, trouble = 0, str(error)
    if found < required and limit:
        if now - remembered["since"] >= limit:
            raise _failure(remembered, f"the controller was not usable for {limit:g} seconds afterwards. {trouble}")
        seconds = options.firmware_update_validation_interval
        return _next(remembered, "settle", seconds, found=found, trouble=trouble)
    if remembered["at"] + 1 == len(remembered["updates"]):
        return Effect(firmware=components)
    kept = {name: value for name, value in remembered.items() if name in _UPDATES}
    return _next({**kept, "at": remembered["at"] + 1}, "prepare", 0)


def _update(remembered: Remembered) -> Mapping[str, Any]:
    found: Mapping[str, Any] = remembered["updates"][remembered["at"]]
    return found


def _component(remembered: Remembered) -> str:
    return str(_update(remembered)["component"])


def _failure(remembered: Remembered, why: str) -> InvalidValue:
    return InvalidValue(message=f"The firmware of {_component(remembered)} was not updated: {why}")


def _interval(machine: Machine) -> float:
    seconds: float = machine.settings.redfish.firmware_update_status_interval
    return seconds


_PHASES: Mapping[str, Callable[[Machine, Remembered, float], Effect]] = {
    "prepare": _prepare,
    "send": _send,
    "task": _task,
    "reboot": _reboot,
    "version": _version,
    "settle": _settle,
}
