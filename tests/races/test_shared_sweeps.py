"""Conductors share the claims whose time is over: what one is ending, another leaves alone."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import WaitingRequest
from baremetal_sched.placement import waiting_requests
from baremetal_sched.scheduling import sweep
from tests.functional.scheduling.test_handover import wait
from tests.service import Service


def test_what_one_conductor_is_ending_another_does_not_wait_for(service: Service) -> None:
    service.add_conductor("r1")
    mine, *others = (wait(service, seconds=-1) for _ in range(3))
    settings = service.app.settings
    ended = select(WaitingRequest.uuid).where(WaitingRequest.state == "timed_out")

    def end_slowly(session: Session) -> list[str]:
        (claim_id,) = session.scalars(select(WaitingRequest.id).where(WaitingRequest.uuid == mine))
        assert [each.uuid for each in waiting_requests.take_overdue(session, [claim_id])] == [mine]
        sweep.sweep(service.database, settings, "r1", lambda *_: True)
        return list(service.database.read(lambda reader: reader.scalars(ended).all()))

    assert sorted(service.database.write(end_slowly)) == sorted(others)
    sweep.sweep(service.database, settings, "r1", lambda *_: True)
    assert len(service.database.read(lambda session: session.scalars(ended).all())) == 3
