"""The hardware types that live conductors serve."""

from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import alive
from baremetal_sched.db.models import Conductor, ConductorInterface
from baremetal_sched.errors.baremetal import DriverNotFound


@dataclass
class Driver:
    """A hardware type: the hosts that serve it, and its interfaces by type, with the default of each type."""

    name: str
    hosts: set[str] = field(default_factory=set)
    enabled: dict[str, set[str]] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)


def list_drivers(session: Session, timeout: float, name: str | None = None) -> list[Driver]:
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
    drivers: dict[str, Driver] = {}
    for hardware_type, hostname, interface_type, interface_name, is_default in session.execute(query):
        driver = drivers.setdefault(hardware_type, Driver(hardware_type))
        driver.hosts.add(hostname)
        driver.enabled.setdefault(interface_type, set()).add(interface_name)
        if is_default:
            driver.defaults[interface_type] = interface_name
    return list(drivers.values())


def find_driver(session: Session, timeout: float, name: str) -> Driver:
    """One hardware type. Raises DriverNotFound if no live conductor serves it."""
    found = list_drivers(session, timeout, name)
    if not found:
        raise DriverNotFound(driver=name)
    return found[0]
