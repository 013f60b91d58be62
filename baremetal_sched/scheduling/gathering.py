"""Requests that wait for several machines: each is served when enough are free at one moment, in a transaction of its
own.

No free machine is kept for them: requests for one machine are served meanwhile. After a commit that freed machines the
first request of their class is looked at; the sweep looks at all.
"""

import time
from collections.abc import Collection
from functools import partial

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

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

_ORDER = (WaitingRequest.priority.desc(), WaitingRequest.asked_at, WaitingRequest.id)


def serve_first(database: Database, settings: Settings, classes: Collection[str], deadline: float | None) -> None:
    """Serve the first request for machines of each class, and the next one as long as there is enough for it. Raises
    the errors of the database."""
    for name in sorted(classes):
        while True:
            first = database.read(partial(_first, resource_class=name), deadline=deadline)
            if first is None or not serve(database, settings, first, deadline):
                break


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


def _first(session: Session, resource_class: str) -> str | None:
    query = select(WaitingRequest.uuid).where(IS_GATHERING, WaitingRequest.resource_class == resource_class)
    first: str | None = session.scalars(query.order_by(*_ORDER).limit(1)).first()
    return first


def _all(session: Session) -> list[str]:
    return list(session.scalars(select(WaitingRequest.uuid).where(IS_GATHERING).order_by(*_ORDER).limit(_MOST)))


def _fail(session: Session, uuid: str, reason: str) -> None:
    waiting = waiting_requests.find(session, uuid, lock=True)
    if waiting is not None and waiting.state == GATHERING:
        waiting_requests.decide(session, waiting, FAILED, reason)
