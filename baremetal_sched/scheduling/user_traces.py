"""What a user of the file of users has in the database that acts later, as sentences for an operator."""

from collections.abc import Iterator, Sequence

from sqlalchemy import func, not_, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import PageSession, WaitingRequest, Webhook
from baremetal_sched.db.models.page_sessions import IS_OVER
from baremetal_sched.placement.waiting_requests import IS_WAITING

#: How many of one kind are named.
_NAMED = 10


def of_user(session: Session, name: str) -> list[str]:
    """Return a line for each kind of thing that user ``name`` has, with what becomes of it when the user is removed, or
    has other roles."""
    return [*_webhooks(session, name), *_sessions(session, name), *_requests(session, name)]


def _webhooks(session: Session, name: str) -> Iterator[str]:
    made = session.execute(select(Webhook.uuid, Webhook.name, Webhook.maker).order_by(Webhook.id))
    found = [given or uuid for uuid, given, maker in made if maker.get("user_name") == name]
    if found:
        yield f"Webhooks, which send what their maker may read today, and else are parked: {_listed(found)}"


def _sessions(session: Session, name: str) -> Iterator[str]:
    # SELECT count(*) FROM page_sessions WHERE person = … AND NOT (it is over)
    query = select(func.count()).select_from(PageSession).where(PageSession.person == name, not_(IS_OVER))
    number = session.scalars(query).one()
    if number:
        yield f"Sessions of pages, which have ended: {number}"


def _requests(session: Session, name: str) -> Iterator[str]:
    asked = or_(WaitingRequest.consumer_user == name, WaitingRequest.user_id == name)
    query = select(WaitingRequest.kind, WaitingRequest.uuid, WaitingRequest.consumer_project)
    found = session.execute(query.where(asked, IS_WAITING).order_by(WaitingRequest.id)).all()
    if found:
        listed = _listed([f"{kind} {uuid} of project {project}" for kind, uuid, project in found])
        yield f"Requests that wait, which belong to their projects and stay: {listed}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f", and {more} more" if more > 0 else "")
