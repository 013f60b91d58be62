"""Protocols of interfaces for the software on machines: boot, deploy, inspect, rescue, storage, network."""

from collections.abc import Mapping
from typing import Any, Protocol

from baremetal_sched.drivers.interfaces.hardware import PolledInterface
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, MachineFinding


class BootInterface(Protocol):
    """Prepares the boot of a machine. Its methods return the changes of the node; None means that there are none."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be booted."""

    def validate_ramdisk_instance(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can boot the instance that ``instance_info`` describes, and that
        runs from memory: see the deploy interface "ramdisk"."""
        raise InvalidValue(
            message=f"The boot interface '{machine.interfaces['boot']}' cannot boot an instance that runs from memory. "
            "Give the node another one, such as redfish-virtual-media."
        )

    def prepare_ramdisk(self, machine: Machine) -> Effect | None:
        """Let the machine boot the agent next."""

    def clean_up_ramdisk(self, machine: Machine) -> Effect | None:
        """Clean up after the agent, which is no longer needed."""

    def prepare_instance(self, machine: Machine) -> Effect | None:
        """Let the machine boot its instance from now on. This may be repeated if a conductor dies while doing it."""

    def clean_up_instance(self, machine: Machine) -> Effect | None:
        """Clean up after the instance's boot: the instance is gone."""


class DeployInterface(PolledInterface, Protocol):
    """Puts an instance on a machine, by steps of deploying, and takes it away."""

    #: Whether an agent never runs on the machine: then steps of cleaning and servicing that need one are refused.
    lacks_agent: bool = False
    #: Whether the agent executes commands, so that its own steps can be used.
    commands_agent: bool = False
    #: Whether a step of deploying prepares booting the instance. Otherwise that is done after the last step.
    prepares_instance: bool = False

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine, with its ``instance_info``, can be deployed."""

    def boot_agent(self, machine: Machine) -> Effect:
        """Boot the agent again, in the middle of cleaning, deploying or servicing."""
        return NOTHING

    def prepare_cleaning(self, machine: Machine) -> Effect:
        """Make the machine ready for steps of cleaning."""
        return NOTHING

    def tear_down_cleaning(self, machine: Machine) -> Effect:
        """Clean up after the steps of cleaning."""
        return NOTHING

    def prepare_service(self, machine: Machine) -> Effect:
        """Make the machine ready for steps of servicing."""
        return NOTHING

    def tear_down_service(self, machine: Machine) -> Effect:
        """Clean up after the steps of servicing, and let the instance run again."""
        return NOTHING

    def tear_down(self, machine: Machine) -> Effect:
        """Take the instance away."""
        return NOTHING


class InspectInterface(Protocol):
    """Inspects the hardware of a machine."""

    #: Whether an agent inspects the machine, for which the node must be known by its ports.
    uses_agent: bool = False

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be inspected."""
        raise machine.unsupported("inspect")

    def inspect_hardware(self, machine: Machine) -> MachineFinding | Effect:
        """Return the inventory of the machine; or, if an agent on it will report that, the effect so far."""
        raise machine.unsupported("inspect")


class RescueInterface(Protocol):
    """Boots a machine into a rescue system, and back."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be rescued."""
        raise machine.unsupported("rescue")

    def rescue(self, machine: Machine) -> Effect:
        """Boot the rescue system; its password is in ``instance_info``."""
        raise machine.unsupported("rescue")

    def unrescue(self, machine: Machine) -> Effect:
        """Boot the instance again."""
        raise machine.unsupported("unrescue")


class StorageInterface(Protocol):
    """Attaches the volumes of an instance before it is deployed, and detaches them after."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the volumes can be attached."""

    def attach_volumes(self, machine: Machine) -> None:
        """Attach the volumes."""

    def detach_volumes(self, machine: Machine) -> None:
        """Detach the volumes."""


class NetworkInterface(Protocol):
    """Called while requests wait; the node is reserved, except for queries."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the ports can be connected."""

    def vif_list(self, machine: Machine) -> list[dict[str, str]]:
        """Return the attached virtual interfaces, each as ``{"id": …}``."""
        raise machine.unsupported("vif_list")

    def vif_attach(self, machine: Machine, vif: Mapping[str, Any]) -> Effect:
        """Attach a virtual interface to a free port."""
        raise machine.unsupported("vif_attach")

    def vif_detach(self, machine: Machine, vif_id: str) -> Effect:
        """Detach a virtual interface."""
        raise machine.unsupported("vif_detach")

    def port_changed(self, machine: Machine, port: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Effect:
        """Follow a change of a port (a UUID), which is written if this succeeds; any error refuses the change.

        ``before`` and ``after`` are the fields that a PATCH may change. The same change may come again. Never called
        for the interface "noop".
        """
        return NOTHING

    def portgroup_changed(
        self, machine: Machine, portgroup: str, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> Effect:
        """Follow a change of a portgroup: see ``port_changed``."""
        return NOTHING
