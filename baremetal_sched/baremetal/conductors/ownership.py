"""Which conductor owns which node: the hash ring over the live conductors of the node's group and driver."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import ColumnElement, Double, and_, false, func, literal_column, or_, select, true

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor, ConductorInterface, Node
from baremetal_sched.db.sql_functions import as_digits, concat, constant, string_agg
from baremetal_sched.db.types import Reader
from baremetal_sched.errors.baremetal import NoConductors, NoValidHost
from baremetal_sched.hashring import ring_of
from baremetal_sched.releases import has_groups
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class Membership:
    """The live conductors (host names) by conductor group, in lower case, and hardware type.

    If it is not ``grouped``, groups are ignored, and the group in the keys is empty: a conductor is pinned to a release
    without groups, and all must agree with it.
    """

    members: Mapping[tuple[str, str], frozenset[str]]
    exponent: int
    grouped: bool = True

    def serving(self, group: str, driver: str) -> frozenset[str]:
        """Return the conductors that serve group and driver; an empty set if no conductor does."""
        return self.members.get(self._key(group, driver), frozenset())

    def owner(self, node_uuid: str, group: str, driver: str) -> str | None:
        """Return the host name of the conductor that owns the node, or None if its group and driver are not served."""
        hosts = self.serving(group, driver)
        return ring_of(hosts, self.exponent).owner(node_uuid) if hosts else None

    def is_served(self, group: str, driver: str) -> bool:
        """Return whether a live conductor serves group and driver."""
        return self._key(group, driver) in self.members

    def require(self, group: str, driver: str) -> None:
        """Raise NoConductors if there is no live conductor at all, NoValidHost if none serves group and driver."""
        if not self.members:
            raise NoConductors
        if not self.is_served(group, driver):
            raise NoValidHost(driver=driver, group=group, known=self._known(driver))

    def hosts(self, group: str, driver: str) -> frozenset[str]:
        """The conductors that serve group and driver; raises like ``require``."""
        self.require(group, driver)
        return self.members[self._key(group, driver)]

    def require_owner(self, node_uuid: str, group: str, driver: str) -> str:
        """The owner; raises like ``require``."""
        self.require(group, driver)
        owner = self.owner(node_uuid, group, driver)
        assert owner is not None  # noqa: S101 - require() has just said so
        return owner

    def served_by(self, conductor: str) -> ColumnElement[bool]:
        """Return the SQL condition that ``conductor`` serves the node's group and driver. Another may own it."""
        return self._of_keys(key for key, hosts in self.members.items() if conductor in hosts)

    def served(self) -> ColumnElement[bool]:
        """SQL condition: the node has an owner."""
        return self._of_keys(self.members)

    def _of_keys(self, keys: Iterable[tuple[str, str]]) -> ColumnElement[bool]:
        groups_of: dict[str, list[str]] = {}
        for group, driver in sorted(keys):
            groups_of.setdefault(driver, []).append(group)
        conditions = [
            and_(Node.conductor_group.in_(groups), Node.driver == driver) if self.grouped else Node.driver == driver
            for driver, groups in groups_of.items()
        ]
        return or_(false(), *conditions)

    def _key(self, group: str, driver: str) -> tuple[str, str]:
        return (group.lower() if self.grouped else "", driver)

    def _known(self, driver: str) -> str:
        groups = sorted(group for group, served in self.members if served == driver)
        if groups:
            named = (f'"{group}"' if group else "the default group" for group in groups)
            return (
                f"Conductor groups that serve it: {', '.join(named)}. For another group, first start a conductor of it."
            )
        drivers = sorted({served for _, served in self.members})
        return (
            f"Drivers that are served: {', '.join(drivers)}. To serve another, add it to [DEFAULT] "
            "enabled_hardware_types of a conductor, and start the conductor again."
        )


def alive(timeout: float) -> ColumnElement[bool]:
    """SQL condition: the conductor is online and has sent a heartbeat within ``timeout`` seconds."""
    # Not as a parameter: it is always the same, and the driver would quote it again for each statement.
    return and_(Conductor.online == true(), Conductor.heartbeat_at > epoch() - literal_column(str(timeout), Double()))


@dataclass(frozen=True)
class LiveMembers:
    """How to ask for the membership, by the clock of the database, along with something else.

    ``read`` makes a Membership of what the database returns for ``column``. A conductor must have sent a heartbeat
    within ``timeout`` seconds; ``exponent`` is the ring's.
    """

    timeout: float
    exponent: int

    @classmethod
    def of(cls, settings: Settings) -> "LiveMembers":
        """As the settings have it."""
        return cls(settings.conductor.heartbeat_timeout, settings.hash_partition_exponent)

    @property
    def column(self) -> ColumnElement[str | None]:
        return _live(self.timeout)

    def read(self, text: str | None) -> Membership:
        return _membership(text or "", self.exponent)


@lru_cache(maxsize=20)
def _membership(text: str, exponent: int) -> Membership:
    """Cached, because it is the same until a conductor comes or goes."""
    hosts, served = (part.split("\n") for part in text.split("\t")) if text else ([], [])
    host_of = dict(line.split(" ") for line in hosts)
    rows = [line.split(" ") for line in served]
    grouped = all(has_groups(pin or None) for _, _, pin, _ in rows)
    hosts_by_key: dict[tuple[str, str], set[str]] = {}
    for row_id, group, _, driver in rows:
        hosts_by_key.setdefault((group.lower() if grouped else "", driver), set()).add(host_of[row_id])
    return Membership({key: frozenset(hosts) for key, hosts in hosts_by_key.items()}, exponent, grouped)


def live_members(reader: Reader, settings: Settings) -> Membership:
    """The membership as it is now, by the clock of the database."""
    live = LiveMembers.of(settings)
    return live.read(reader.scalar(select(live.column)))


#: No conductor is alive.
NO_MEMBERS = Membership({}, 0)


@lru_cache
def _live(timeout: float) -> ColumnElement[str | None]:
    """One text, so that it can be selected along with a node: ids and host names, then ids, groups, pins and types.

    (SELECT group_concat(id || ' ' || hostname) || '\\t' || group_concat(id || ' ' || conductor_group || ' ' || …)
     FROM conductors c
     JOIN conductor_interfaces i ON i.conductor_id = c.id AND i.interface_type = 'power' AND i.is_default
     WHERE c.online AND c.heartbeat_at > now - timeout)

    None of them has a blank in it. One aggregate of all, or JSON, would have MariaDB make a table on disk, which takes
    longer than all the rest.
    """
    row_id = as_digits(Conductor.id)
    pin: ColumnElement[str] = func.coalesce(Conductor.pin_release_version, constant(""))
    host = concat(row_id, " ", Conductor.hostname)
    served = concat(row_id, " ", Conductor.conductor_group, " ", pin, " ", ConductorInterface.hardware_type)
    return (
        select(concat(string_agg(host, "\n"), "\t", string_agg(served, "\n")))
        .join_from(Conductor, ConductorInterface, ConductorInterface.conductor_id == Conductor.id)
        # Every hardware type has one default of each kind of interface: so it is there once.
        .where(ConductorInterface.interface_type == constant("power"), ConductorInterface.is_default == true())
        .where(alive(timeout))
        .scalar_subquery()
    )
