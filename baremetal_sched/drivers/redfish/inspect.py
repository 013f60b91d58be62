"""Inspections out of band, by Redfish."""

from baremetal_sched.drivers.interfaces.inspect import InspectInterface


class RedfishInspect(InspectInterface):
    """The machine cannot be inspected."""
