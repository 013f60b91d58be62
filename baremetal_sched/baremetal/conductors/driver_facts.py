"""Facts that conductors record about the hardware types that they serve, so that the API needs no driver."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import Membership, alive
from baremetal_sched.db.models import Conductor, ConductorHardwareType, ConductorInterface, Node
from baremetal_sched.errors.baremetal import DriverNotFound, NoConductors
from baremetal_sched.machines.interface_types import Offer


class DriverFacts(NamedTuple):
    """The facts that one conductor records about a hardware type."""

    offers: Mapping[str, Offer]
    facts: Mapping[str, Any]

    def logical_disk_properties(self) -> dict[str, str]:
        """The properties of a logical disk, each with a description, from the first RAID interface that has any."""
        known = self.facts["interfaces"]["raid"]
        found = (known[name]["logical_disk_properties"] for name in self.offers["raid"].supported)
        return next(filter(None, found), {})


def offers(session: Session, hardware_type: str, group: str, membership: Membership) -> dict[str, Offer]:
    """Return, by interface type, the interfaces that a node of this hardware type and conductor group may have.

    Conductors of a group may differ for a while: one of them must have what a node asks for, and the default is that
    of the first by name. Raises NoConductors or NoValidHost if none serves the type.
    """
    hosts = membership.hosts(group, hardware_type)
    # SELECT t.offers FROM conductor_hardware_types t JOIN conductors c ON c.id = t.conductor_id
    # WHERE t.hardware_type = … AND c.hostname IN (…) ORDER BY c.hostname
    rows = session.scalars(
        select(ConductorHardwareType.offers)
        .join(Conductor, Conductor.id == ConductorHardwareType.conductor_id)
        .where(ConductorHardwareType.hardware_type == hardware_type, Conductor.hostname.in_(hosts))
        .order_by(Conductor.hostname)
    ).all()
    all_offers = [_offers(document) for document in rows] or [_offers_of_older_releases(session, hardware_type, hosts)]
    return {interface_type: _merged([each[interface_type] for each in all_offers]) for interface_type in all_offers[0]}


def interface_facts(session: Session, node: Node, interface_type: str, membership: Membership) -> Mapping[str, Any]:
    """The known facts about the node's interface of this type; nothing, if no conductor of its group has it.

    Raises NoConductors or NoValidHost if none serves the node.
    """
    name = getattr(node, f"{interface_type}_interface")
    rows = session.scalars(
        select(ConductorHardwareType.facts)
        .join(Conductor, Conductor.id == ConductorHardwareType.conductor_id)
        .where(
            ConductorHardwareType.hardware_type == node.driver,
            Conductor.hostname.in_(membership.hosts(node.conductor_group, node.driver)),
        )
        .order_by(Conductor.hostname)
    )
    for facts in rows:
        if name in facts["interfaces"][interface_type]:
            found: Mapping[str, Any] = facts["interfaces"][interface_type][name]
            return found
    return {}


def find(session: Session, hardware_type: str, timeout: float) -> DriverFacts | None:
    """The facts from the first live conductor that serves the hardware type; None if there are none."""
    row = session.execute(
        select(ConductorHardwareType.offers, ConductorHardwareType.facts)
        .join(Conductor, Conductor.id == ConductorHardwareType.conductor_id)
        .where(ConductorHardwareType.hardware_type == hardware_type, alive(timeout))
        .order_by(Conductor.hostname)
        .limit(1)
    ).first()
    return None if row is None else DriverFacts(_offers(row[0]), row[1])


def _offers(document: Mapping[str, Any]) -> dict[str, Offer]:
    return {
        interface_type: Offer(offer["default"], tuple(offer["supported"]), tuple(offer["enabled"]))
        for interface_type, offer in document.items()
    }


def _merged(offers: list[Offer]) -> Offer:
    if len(offers) == 1:
        return offers[0]
    return Offer(
        offers[0].default,
        tuple(dict.fromkeys(name for offer in offers for name in offer.supported)),
        tuple(sorted({name for offer in offers for name in offer.enabled})),
    )


def _offers_of_older_releases(session: Session, hardware_type: str, hosts: Iterable[str]) -> dict[str, Offer]:
    """The same from conductors of a release that registered the names of interfaces and no more."""
    rows = session.execute(
        select(ConductorInterface.interface_type, ConductorInterface.interface_name, ConductorInterface.is_default)
        .join(Conductor, Conductor.id == ConductorInterface.conductor_id)
        .where(ConductorInterface.hardware_type == hardware_type, Conductor.hostname.in_(hosts))
        .order_by(ConductorInterface.is_default.desc(), ConductorInterface.interface_name)
    )
    names: dict[str, dict[str, None]] = {}
    for interface_type, name, _ in rows:
        names.setdefault(interface_type, {})[name] = None
    if not names:  # all conductors that served the type have just gone
        raise NoConductors
    return {kind: Offer(next(iter(known)), tuple(known), tuple(sorted(known))) for kind, known in names.items()}


@dataclass
class ServedDriver:
    """A hardware type: the hosts that serve it, and its interfaces by type, with the default of each type."""

    name: str
    hosts: set[str] = field(default_factory=set)
    enabled: dict[str, set[str]] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)


def list_drivers(session: Session, timeout: float, name: str | None = None) -> list[ServedDriver]:
    """Every hardware type that a live conductor serves (or just the one called ``name``), sorted by name."""
    query = (
        select(
            ConductorInterface.hardware_type,
            Conductor.hostname,
            ConductorInterface.interface_type,
            ConductorInterface.interface_name,
            ConductorInterface.is_default,
        )
        .join(Conductor, Conductor.id == ConductorInterface.conductor_id)
        .where(alive(timeout))
        .order_by(ConductorInterface.hardware_type)
    )
    if name is not None:
        query = query.where(ConductorInterface.hardware_type == name)
    drivers: dict[str, ServedDriver] = {}
    for hardware_type, hostname, interface_type, interface_name, is_default in session.execute(query):
        driver = drivers.setdefault(hardware_type, ServedDriver(hardware_type))
        driver.hosts.add(hostname)
        driver.enabled.setdefault(interface_type, set()).add(interface_name)
        if is_default:
            driver.defaults[interface_type] = interface_name
    return list(drivers.values())


def find_driver(session: Session, timeout: float, name: str) -> ServedDriver:
    """One hardware type. Raises DriverNotFound if no live conductor serves it."""
    found = list_drivers(session, timeout, name)
    if not found:
        raise DriverNotFound(driver=name)
    return found[0]
