"""A management controller with one machine, after the published Redfish schemas: what the emulators of others lack.

It has sessions that expire and are counted, tasks, BIOS settings that wait for a reboot, firmware updates, power that
takes its time, and faults on request. ``RedfishService`` serves it on 127.0.0.1.
"""

from tests.redfish_service.controller import Controller
from tests.redfish_service.faults import Fault
from tests.redfish_service.serving import RedfishService

__all__ = ["Controller", "Fault", "RedfishService"]
