"""Availability zones: a conductor group is a zone; the default group has the name that the settings give it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import alive
from baremetal_sched.db.models import Conductor, Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class ZoneHost:
    """A conductor of a zone. ``is_enabled``: it is not being stopped; ``is_alive``: its heartbeats come."""

    name: str
    is_enabled: bool
    is_alive: bool
    updated_at: datetime


@dataclass(frozen=True)
class Zone:
    """A zone with its conductors, by name. It is available if one of them is alive."""

    name: str
    hosts: tuple[ZoneHost, ...]

    @property
    def is_available(self) -> bool:
        """Return whether servers of the zone can be worked on now."""
        return any(host.is_alive for host in self.hosts)


def list_zones(session: Session, heartbeat_timeout: float, default_zone: str) -> list[Zone]:
    """Return the default zone, and a zone for each other conductor group that a conductor or a node belongs to.

    Sorted by name. A group that is called like the default zone is not a zone: the name means the default group.
    """
    hosts: dict[str, list[ZoneHost]] = {"": []}
    for (group,) in session.execute(select(Node.conductor_group).distinct()):
        hosts.setdefault(group.lower(), [])
    columns = (Conductor.conductor_group, Conductor.hostname, Conductor.online, Conductor.heartbeat_at)
    for group, hostname, online, heartbeat_at, is_alive in session.execute(
        select(*columns, alive(heartbeat_timeout)).order_by(Conductor.hostname)
    ):
        updated_at = datetime.fromtimestamp(heartbeat_at, UTC).replace(tzinfo=None)
        hosts.setdefault(group.lower(), []).append(ZoneHost(hostname, bool(online), bool(is_alive), updated_at))
    hosts.pop(default_zone.lower(), None)
    zones = [Zone(zone_of(group, default_zone), tuple(of_zone)) for group, of_zone in hosts.items()]
    return sorted(zones, key=lambda zone: zone.name)


def zone_of(conductor_group: str, default_zone: str) -> str:
    """Return the name of the zone that a conductor group is."""
    return conductor_group or default_zone


def group_of(zone: str, default_zone: str) -> str:
    """Return the conductor group that a zone is, in lower case."""
    return "" if zone == default_zone else zone.lower()


def require_available(session: Session, zone: str, settings: Settings) -> None:
    """Raise InvalidValue unless servers of the zone can be worked on now. The default zone is not looked at."""
    default: str = settings.compute.default_availability_zone
    if zone == default:
        return
    zones = list_zones(session, settings.conductor.heartbeat_timeout, default)
    if not any(each.is_available and each.name == zone for each in zones):
        raise InvalidValue(message=f"The requested availability zone is not available: {zone}")
