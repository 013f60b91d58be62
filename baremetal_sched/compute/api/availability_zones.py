"""/os-availability-zone"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute.api.call import ComputeCall, timestamp
from baremetal_sched.compute.availability_zones import Zone, ZoneHost, list_zones
from baremetal_sched.web.responses import json_response

#: What the service of a host is called, which clients look for.
_SERVICE = "nova-compute"


def list_summaries(call: ComputeCall, session: Session) -> Response:
    """GET /os-availability-zone"""
    return json_response({"availabilityZoneInfo": [_summary(zone) for zone in _zones(call, session)]})


def list_details(call: ComputeCall, session: Session) -> Response:
    """GET /os-availability-zone/detail"""
    zones = [{**_summary(zone), "hosts": _hosts(zone)} for zone in _zones(call, session)]
    return json_response({"availabilityZoneInfo": zones})


def _zones(call: ComputeCall, session: Session) -> list[Zone]:
    """Return all zones, the available ones first, as in Nova."""
    settings = call.settings
    zones = list_zones(session, settings.conductor.heartbeat_timeout, settings.compute.default_availability_zone)
    return sorted(zones, key=lambda zone: not zone.is_available)


def _summary(zone: Zone) -> dict[str, Any]:
    return {"zoneName": zone.name, "zoneState": {"available": zone.is_available}, "hosts": None}


def _hosts(zone: Zone) -> dict[str, Any] | None:
    """The conductors; None, as with Nova, for a zone that is not available."""
    return {host.name: {_SERVICE: _service(host)} for host in zone.hosts} if zone.is_available else None


def _service(host: ZoneHost) -> dict[str, Any]:
    return {"available": host.is_alive, "active": host.is_enabled, "updated_at": timestamp(host.updated_at)}
