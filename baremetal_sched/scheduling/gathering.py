"""Requests that wait for several machines: each is served when enough are free at one moment, in a transaction of its
own.

No free machine is kept for them: requests for one machine are served meanwhile. After a commit that freed machines the
first request of their class is looked at; the sweep looks at all.
"""

import time
from collections.abc import Collection, Mapping
from functools import partial

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.several import may_be_had
from baremetal_sched.db.models import WaitingRequest
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchedulerError, UnavailableError
from baremetal_sched.placement import waiting_requests
from baremetal_sched.placement.waiting_requests import FAILED, GATHERING, IS_GATHERING
from baremetal_sched.scheduling import group_claims, machine_groups
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Seconds that one sweep spends, and the greatest number of requests that it looks at.
_SECONDS = 5.0
_MOST = 1000

#: What a claim is made of.
_COLUMNS = tuple(
    getattr(WaitingRequest, name) for name in ("uuid", "request", "consumer_project", "consumer_user", "consumer_type")
)
#: In which order they are served.
ORDER = (WaitingRequest.priority.desc(), WaitingRequest.asked_at, WaitingRequest.id)


def serve_first(database: Database, settings: Settings, freed: Mapping[int, str], deadline: float | None) -> None:
    """Serve the first request for machines of the class of each freed machine (its class by the id of its provider), if
    that helps, and the next one as long as there is enough for it. Raises the errors of the database."""
    for name in sorted(set(freed.values())):
        near = [provider for provider, each in freed.items() if each == name]
        look = partial(_first, settings=settings, resource_class=name, near=near)
        while (first := database.read(look, deadline=deadline)) and serve(database, settings, first, deadline):
            pass


def serve(database: Database, settings: Settings, uuid: str, deadline: float | None = None) -> bool:
    """Serve a request if enough machines are free; return whether it was. One that cannot be served has failed. Raises
    the errors of the database."""
    try:
        served = database.write(partial(group_claims.serve, settings=settings, uuid=uuid), deadline=deadline)
    except UnavailableError:
        raise
    except SchedulerError as error:
        database.write(partial(_fail, uuid=uuid, reason=str(error)), deadline=deadline)
        return False
    if served:
        log.info("handed machines over", claim=uuid)
    return served


def sweep(database: Database, settings: Settings) -> None:
    """Serve all requests for which enough machines are free, and forget groups that are gone. Raises the errors of the
    database."""
    until = time.monotonic() + _SECONDS
    for uuid in database.read(_all):
        if time.monotonic() > until:
            break
        try:
            serve(database, settings, uuid)
        except UnavailableError as error:
            log.info("left to the next sweep", claim=uuid, reason=str(error))
    database.write(machine_groups.sweep)


def _first(session: Session, settings: Settings, resource_class: str, near: Collection[int]) -> str | None:
    """Return the first request of the class, if the freed machines can help it. Nothing is locked."""
    of_class = select(*_COLUMNS).where(IS_GATHERING, WaitingRequest.resource_class == resource_class)
    first = session.execute(of_class.order_by(*ORDER).limit(1)).first()
    claim = None if first is None else group_claims.GroupClaim.of(first)
    if claim is None:
        return None
    group = machine_groups.asked(session, claim.project, claim.several, names_nodes=False)
    return claim.uuid if may_be_had(MachineContext(session, settings), claim.request, group, near) else None


def _all(session: Session) -> list[str]:
    return list(session.scalars(select(WaitingRequest.uuid).where(IS_GATHERING).order_by(*ORDER).limit(_MOST)))


def _fail(session: Session, uuid: str, reason: str) -> None:
    waiting = waiting_requests.find(session, uuid, lock=True)
    if waiting is not None and waiting.state == GATHERING:
        waiting_requests.decide(session, waiting, FAILED, reason)
