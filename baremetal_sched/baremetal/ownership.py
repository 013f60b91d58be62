"""Which conductor owns which node: the hash ring over the live conductors of the node's group and driver."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, select, true
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor, ConductorInterface
from baremetal_sched.errors.baremetal import NoConductors, NoValidHost
from baremetal_sched.hashring import ring_of
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class Membership:
    """The live conductors (host names) by conductor group, in lower case, and hardware type."""

    members: Mapping[tuple[str, str], frozenset[str]]
    exponent: int

    def owner(self, node_uuid: str, group: str, driver: str) -> str | None:
        """Host name of the conductor that owns the node, None if nobody serves its group and driver."""
        hosts = self.members.get((group.lower(), driver))
        return ring_of(hosts, self.exponent).owner(node_uuid) if hosts else None

    def require(self, group: str, driver: str) -> None:
        """Raise NoConductors if there is no live conductor at all, NoValidHost if none serves group and driver."""
        if not self.members:
            raise NoConductors
        if (group.lower(), driver) not in self.members:
            raise NoValidHost(driver=driver, group=group, known=self._known(driver))

    def require_owner(self, node_uuid: str, group: str, driver: str) -> str:
        """The owner; raises like ``require``."""
        self.require(group, driver)
        owner = self.owner(node_uuid, group, driver)
        assert owner is not None  # noqa: S101 - require() has just said so
        return owner

    def _known(self, driver: str) -> str:
        groups = sorted(group for group, served in self.members if served == driver)
        if groups:
            return "Conductor groups that serve it: {}.".format(", ".join(f'"{group}"' for group in groups))
        drivers = sorted({served for _, served in self.members})
        return "Drivers that are served: {}.".format(", ".join(drivers))


def alive(timeout: float) -> ColumnElement[bool]:
    """SQL condition: the conductor is online and has sent a heartbeat within ``timeout`` seconds."""
    return and_(Conductor.online == true(), Conductor.heartbeat_at > epoch() - timeout)


def live_members(session: Session, settings: Settings) -> Membership:
    """The membership as it is now, by the clock of the database.

    SELECT DISTINCT hostname, conductor_group, hardware_type FROM conductors JOIN conductor_interfaces …
    WHERE online AND heartbeat_at > now - timeout
    """
    rows = session.execute(
        select(Conductor.hostname, Conductor.conductor_group, ConductorInterface.hardware_type)
        .join(ConductorInterface, ConductorInterface.conductor_id == Conductor.id)
        .where(alive(settings.conductor.heartbeat_timeout))
        .distinct()
    )
    members: dict[tuple[str, str], set[str]] = {}
    for hostname, group, hardware_type in rows:
        members.setdefault((group.lower(), hardware_type), set()).add(hostname)
    return Membership({key: frozenset(hosts) for key, hosts in members.items()}, settings.hash_partition_exponent)
