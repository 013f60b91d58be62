"""The registry of conductors: who is there, which group and hardware types each serves, and who is alive."""

import re
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import RowMapping, delete, insert, select, true, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.conductors.ownership import alive
from baremetal_sched.baremetal.identifiers import is_conductor_group
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import Conductor, ConductorHardwareType, ConductorInterface, Node
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import ConductorNotFound, HostNameTaken
from baremetal_sched.machines.interface_types import ServedType

_HOST_NAME = re.compile(r"[^\s/]{1,255}")


def check_registration(hostname: str, group: str) -> None:
    """Raise InvalidValue for a host name or a group that cannot be a conductor's."""
    if not _HOST_NAME.fullmatch(hostname):
        raise InvalidValue(
            message=f"{hostname!r} cannot be the host name of a conductor: 1 to 255 characters, no blanks."
        )
    if not is_conductor_group(group):
        raise InvalidValue(
            message=f"{group!r} cannot be a conductor group: use letters, digits, '_', '-' and '.', at most 255."
        )


def register(
    session: Session,
    hostname: str,
    group: str,
    served: Sequence[ServedType],
    pin_release_version: str | None = None,
    last: float | None = None,
) -> float:
    """Enter a conductor with what it serves, or take up its old entry, as online from now on. Returns the time of this
    heartbeat.

    ``pin_release_version`` is one of ``releases.RELEASES`` while it is to behave like that release. ``last``: see
    ``heartbeat``. Raises InvalidValue like ``check_registration``, and HostNameTaken.
    """
    check_registration(hostname, group)
    values: dict[str, Any] = {
        "conductor_group": group.lower(),
        "online": True,
        "heartbeat_at": epoch(),
        "pin_release_version": pin_release_version,
    }
    if not _update(session, hostname, last, **values):
        session.execute(insert(Conductor).values(hostname=hostname, created_at=utcnow(), **values))
    entry = select(Conductor.id, Conductor.heartbeat_at).where(Conductor.hostname == hostname)
    conductor_id, at = session.execute(entry).one()
    session.execute(delete(ConductorInterface).where(ConductorInterface.conductor_id == conductor_id))
    session.execute(delete(ConductorHardwareType).where(ConductorHardwareType.conductor_id == conductor_id))
    session.execute(insert(ConductorInterface), _interface_rows(conductor_id, served))
    session.execute(insert(ConductorHardwareType), _hardware_type_rows(conductor_id, served))
    return float(at)


def _update(session: Session, hostname: str, last: float | None, **values: Any) -> bool:
    """Change the conductor's entry; return False if there is none. Raises HostNameTaken: see ``heartbeat``."""
    is_own = true() if last is None else Conductor.heartbeat_at <= last
    if rows_changed(session.execute(update(Conductor).where(Conductor.hostname == hostname, is_own).values(**values))):
        return True
    if session.scalar(select(Conductor.id).where(Conductor.hostname == hostname)) is not None:
        raise HostNameTaken(host=hostname)
    return False


def _interface_rows(conductor_id: int, served: Iterable[ServedType]) -> list[dict[str, Any]]:
    return [
        {
            "conductor_id": conductor_id,
            "hardware_type": hardware_type.name,
            "interface_type": interface_type,
            "interface_name": name,
            "is_default": name == names[0],
        }
        for hardware_type in served
        for interface_type, names in hardware_type.listed.items()
        for name in names
    ]


def _hardware_type_rows(conductor_id: int, served: Iterable[ServedType]) -> list[dict[str, Any]]:
    return [
        {
            "conductor_id": conductor_id,
            "hardware_type": hardware_type.name,
            "offers": hardware_type.offers_document(),
            "facts": hardware_type.facts,
        }
        for hardware_type in served
    ]


def heartbeat(session: Session, hostname: str, *, online: bool = True, last: float | None = None) -> float | None:
    """Note that the conductor is alive, and how far the clock of its host, this one, is ahead.

    Returns the time of this heartbeat, by the clock of the database; None if the conductor no longer has an entry and
    must register again. A conductor that is not ``online`` gets no new work, and finishes what it has. ``last`` is the
    latest time of this process's heartbeats that the entry may have: raises HostNameTaken if it has a later one, as
    another process has taken the name then.
    """
    ahead = time.time() - epoch()
    if not _update(session, hostname, last, heartbeat_at=epoch(), clock_difference=ahead, online=online):
        return None
    return session.scalar(select(Conductor.heartbeat_at).where(Conductor.hostname == hostname))


def heartbeats_ahead(session: Session) -> dict[str, float]:
    """Return the heartbeats that lie ahead, by host name: the clock of the database was put back after them."""
    rows = session.execute(select(Conductor.hostname, Conductor.heartbeat_at).where(Conductor.heartbeat_at > epoch()))
    return {hostname: at for hostname, at in rows}


def end(session: Session, hostname: str, at: float, timeout: float) -> bool:
    """Let the conductor be dead unless it has sent a heartbeat since; return whether it is.

    ``at``: its last heartbeat, which lies ahead and is put back by this; so is the conductor's postponed work.
    """
    silent = update(Conductor).where(Conductor.hostname == hostname, Conductor.heartbeat_at == at)
    if not rows_changed(session.execute(silent.values(heartbeat_at=epoch() - timeout))):
        return False
    after = session.scalars(select(Conductor.heartbeat_at).where(Conductor.hostname == hostname)).one()
    work_queue.bring_forward(session, hostname, at - after)
    return True


class LastHeartbeat(NamedTuple):
    """When a conductor sent its last heartbeat, by the clock of the database, and whether it is alive."""

    at: float
    is_alive: bool


def last_heartbeat(session: Session, hostname: str, timeout: float) -> LastHeartbeat | None:
    """Return the last heartbeat of the conductor of this name; None if it has no entry."""
    row = session.execute(select(Conductor.heartbeat_at, alive(timeout)).where(Conductor.hostname == hostname)).first()
    return None if row is None else LastHeartbeat(row[0], bool(row[1]))


def claim(session: Session, hostname: str, seen: float | None) -> float | None:
    """Send a heartbeat under this name and return its time; None if another process has sent one since ``seen``.

    ``seen`` is None if there was no entry. It is made then, and is offline until ``register``.
    """
    at = select(Conductor.heartbeat_at).where(Conductor.hostname == hostname)
    if seen is None:
        if session.scalar(at) is not None:
            return None
        session.execute(insert(Conductor).values(hostname=hostname, created_at=utcnow(), heartbeat_at=epoch()))
        return session.scalar(at)
    result = session.execute(
        update(Conductor)
        .where(Conductor.hostname == hostname, Conductor.heartbeat_at == seen)
        .values(heartbeat_at=epoch())
    )
    return session.scalar(at) if rows_changed(result) else None


def forget_gone(session: Session, after: float) -> list[str]:
    """Delete conductors that have sent no heartbeat for ``after`` seconds; return their host names.

    Conductors for which nodes are still reserved are kept: their entries show that the nodes can be freed.
    """
    holds = select(Node.id).where(Node.reservation == Conductor.hostname).exists()
    rows = session.execute(
        select(Conductor.id, Conductor.hostname)
        .where(Conductor.heartbeat_at <= epoch() - after, ~holds)
        .with_for_update()
    ).all()
    ids = [conductor_id for conductor_id, _ in rows]
    session.execute(delete(ConductorInterface).where(ConductorInterface.conductor_id.in_(ids)))
    session.execute(delete(ConductorHardwareType).where(ConductorHardwareType.conductor_id.in_(ids)))
    session.execute(delete(Conductor).where(Conductor.id.in_(ids)))
    return [hostname for _, hostname in rows]


def count_given_up_call(session: Session, hostname: str) -> None:
    """Count a call of a driver that the conductor has given up, since the machine did not answer."""
    session.execute(
        update(Conductor).where(Conductor.hostname == hostname).values(given_up_calls=Conductor.given_up_calls + 1)
    )


def count_swept_machine(session: Session, hostname: str) -> None:
    """Count a machine that the conductor's sweep gave to a claim which waited beside it."""
    session.execute(
        update(Conductor).where(Conductor.hostname == hostname).values(swept_machines=Conductor.swept_machines + 1)
    )


def sign_off(session: Session, hostname: str, last: float | None = None) -> None:
    """Note that the conductor stops: it leaves every ring at once, and stays listed.

    ``last``: see ``heartbeat``. Raises HostNameTaken.
    """
    _update(session, hostname, last, online=False)


def columns(timeout: float) -> list[Any]:
    """The columns of a list of conductors: id, hostname, conductor_group, created_at, heartbeat_at, alive."""
    return [
        Conductor.id,
        Conductor.hostname,
        Conductor.conductor_group,
        Conductor.created_at,
        Conductor.heartbeat_at,
        alive(timeout).label("alive"),
    ]


def find(session: Session, hostname: str, timeout: float) -> RowMapping:
    """One conductor, as ``columns`` says. Raises ConductorNotFound."""
    row = session.execute(select(*columns(timeout)).where(Conductor.hostname == hostname)).mappings().first()
    if row is None:
        raise ConductorNotFound(conductor=hostname)
    return row


def hardware_types(session: Session, conductor_ids: Iterable[int]) -> dict[int, list[str]]:
    """The hardware types that each of the conductors serves, sorted."""
    served: dict[int, list[str]] = {conductor_id: [] for conductor_id in conductor_ids}
    rows = session.execute(
        select(ConductorInterface.conductor_id, ConductorInterface.hardware_type)
        .where(ConductorInterface.conductor_id.in_(served))
        .distinct()
        .order_by(ConductorInterface.hardware_type)
    )
    for conductor_id, hardware_type in rows:
        served[conductor_id].append(hardware_type)
    return served
