"""A node as its driver sees it, and the results that drivers return."""

import time
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Self

from baremetal_sched.db.models import Node
from baremetal_sched.db.sealing import readable
from baremetal_sched.documents.schema import JsonSchema
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import UnsupportedByDriver
from baremetal_sched.machines.interface_types import INTERFACE_TYPES
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class Machine:
    """A copy of the node's fields for drivers. They write nothing themselves, but return changes as an Effect.

    ``interfaces`` has the name of the node's interface by type; ``wants_cleaning``: it is to be cleaned before it
    becomes available.
    """

    uuid: str
    name: str | None
    driver: str
    interfaces: Mapping[str, str]
    provision_state: str
    target_provision_state: str | None
    retired: bool
    wants_cleaning: bool
    #: A client wants the operation to be aborted after the current step.
    aborts_after_step: bool
    power_state: str | None
    boot_mode: str | None
    secure_boot: bool | None
    console_enabled: bool
    disable_power_off: bool
    properties: Mapping[str, Any]
    driver_info: Mapping[str, Any]
    driver_internal_info: Mapping[str, Any]
    instance_info: Mapping[str, Any]
    target_raid_config: Mapping[str, Any]
    settings: Settings

    @classmethod
    def of(cls, node: Node, settings: Settings) -> Self:
        """Return the machine of ``node`` in its current state."""
        return cls(
            uuid=node.uuid,
            name=node.name,
            driver=node.driver,
            interfaces={kind: _interface(node, kind, settings) for kind in INTERFACE_TYPES},
            provision_state=node.provision_state,
            target_provision_state=node.target_provision_state,
            retired=node.retired,
            wants_cleaning=settings.conductor.automated_clean if node.automated_clean is None else node.automated_clean,
            aborts_after_step=any(
                readable(step).get("abort_after") for step in (node.clean_step, node.deploy_step, node.service_step)
            ),
            power_state=node.power_state,
            boot_mode=node.boot_mode,
            secure_boot=node.secure_boot,
            console_enabled=node.console_enabled,
            disable_power_off=node.disable_power_off,
            properties=deepcopy(node.properties or {}),
            driver_info=deepcopy(node.driver_info or {}),
            driver_internal_info=deepcopy(node.driver_internal_info or {}),
            instance_info=deepcopy(node.instance_info or {}),
            target_raid_config=deepcopy(node.target_raid_config or {}),
            settings=settings,
        )

    def unsupported(self, what: str) -> UnsupportedByDriver:
        """Return the error for an operation that an interface of this machine does not support."""
        return UnsupportedByDriver(driver=self.driver, extension=what)

    def pause(self, kind: str) -> None:
        """Sleep for ``[fake] <kind>_delay``. For use where a conductor is at work, never in a request."""
        seconds: float = getattr(self.settings.fake, f"{kind}_delay")
        if seconds:
            time.sleep(seconds)


#: The deploy interface that stands for the first of ``[DEFAULT] autodetect_deploy_interfaces`` that fits.
AUTODETECT = "autodetect"


def _interface(node: Node, kind: str, settings: Settings) -> str:
    """The node's interface of this type; the one that "autodetect" stands for now.

    A machine is deployed from memory if ``instance_info`` says so and names an image to boot.
    """
    name: str = getattr(node, f"{kind}_interface") or ""
    if kind != "deploy" or name != AUTODETECT:
        return name
    info = node.instance_info or {}
    boots = info.get("boot_iso") or (info.get("kernel") and info.get("ramdisk"))
    fits_ramdisk = bool(boots) and str(info.get("ironic_ramdisk_deploy")).lower() == "true"
    candidates = list(settings.autodetect_deploy_interfaces)
    chosen: str = next((each for each in candidates[:-1] if each != "ramdisk" or fits_ramdisk), candidates[-1])
    return chosen


@dataclass(frozen=True)
class Flashed:
    """New firmware of a component: its version before and ``now``, and the component's description."""

    before: str
    now: str
    vendor: str | None = None
    model: str | None = None


@dataclass(frozen=True)
class Firmware:
    """The firmware of a component as the machine reports it, and the component's description."""

    version: str
    vendor: str | None = None
    model: str | None = None
    serial_number: str | None = None


@dataclass(frozen=True)
class BiosValue:
    """A BIOS setting, and what the machine reports about its possible values."""

    value: str | None
    attribute_type: str | None = None
    allowable_values: list[str] | None = None
    lower_bound: int | None = None
    upper_bound: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    read_only: bool | None = None
    reset_required: bool | None = None
    unique: bool | None = None


@dataclass(frozen=True)
class AgentCommand:
    """A command for the agent on the machine, for example ``image.install_bootloader``.

    A command of one of the agent's own steps needs only the ``step``; the conductor adds the arguments that all of
    these have in common. ``repeatable``: it may be executed twice. ``awaited``: the conductor waits for its end;
    otherwise it does not matter whether it succeeds. ``image``: what has become of the image from the moment when the
    command may have begun.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    repeatable: bool = False
    awaited: bool = True
    image: str | None = None


@dataclass(frozen=True)
class Effect:
    """The result of an operation: new values of the node's columns, and of keys of its ``driver_internal_info``.

    ``waits``: the machine continues by itself, and an agent on it will report. Of steps only: ``bios`` has all BIOS
    settings as they are now, None if they are unchanged; ``firmware`` has components that were updated or read.
    ``poll_after``: the machine is still busy; the interface's ``poll`` is called after this number of seconds, with
    ``remember`` (JSON), by the conductor that owns the node then. ``command`` is sent to the agent; when it has been
    executed, ``poll`` is called with its ``result``, too.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    internal: Mapping[str, Any] = field(default_factory=dict)
    waits: bool = False
    bios: Mapping[str, BiosValue | str | None] | None = None
    firmware: Mapping[str, Flashed | Firmware] = field(default_factory=dict)
    poll_after: float | None = None
    command: AgentCommand | None = None
    remember: Mapping[str, Any] = field(default_factory=dict)

    def write(self, node: Node) -> None:
        """Write it down."""
        for name, value in self.fields.items():
            setattr(node, name, value)
        if self.internal:
            set_internal(node, **self.internal)


NOTHING = Effect()


def together(*effects: Effect | None) -> Effect:
    """Return one Effect that combines these changes, in which the last value wins; other fields are those of the last
    Effect."""
    done = [effect for effect in effects if effect is not None]
    if not done:
        return NOTHING
    fields = {name: value for effect in done for name, value in effect.fields.items()}
    internal = {name: value for effect in done for name, value in effect.internal.items()}
    return replace(done[-1], fields=fields, internal=internal)


@dataclass(frozen=True)
class MachineFinding:
    """The results of an inspection. ``inventory`` is as Ironic's agent reports it: cpu, memory, disks, interfaces, ….

    ``properties`` replace the node's properties of the same names; ``capabilities`` are added unless the node has
    them. ``hooks`` are the names of inspection hooks to run on the result.
    """

    inventory: dict[str, Any] = field(default_factory=dict)
    plugin_data: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)
    capabilities: dict[str, str] = field(default_factory=dict)
    hooks: tuple[str, ...] = ()


def set_internal(node: Node, **values: Any) -> None:
    """Set keys of the node's ``driver_internal_info``."""
    node.driver_internal_info = {**(node.driver_internal_info or {}), **values}


def check_raid_config(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raise InvalidValue unless ``config`` is what ``schema``, a RAID interface's, describes."""
    error = JsonSchema(schema).error(config)
    if error is not None:
        raise InvalidValue(message=f"RAID config validation error: {error.message}")
    roots = [disk for disk in config.get("logical_disks", ()) if disk.get("is_root_volume")]
    if len(roots) > 1:
        raise InvalidValue(
            message="RAID config validation error: Raid config cannot have more than one root volume. "
            f"{len(roots)} root volumes were specified"
        )
