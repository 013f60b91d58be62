"""The history of a server: its instance actions, who requested them, their results, and the reasons of failures."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Server, ServerAction
from baremetal_sched.db.types import Rows
from baremetal_sched.errors.compute import ActionNotFound
from baremetal_sched.machines import states

#: The event of each action, as Nova calls it.
EVENTS: Mapping[str, str] = {
    "create": "compute__do_build_and_run_instance",
    "delete": "compute_terminate_instance",
    "rebuild": "compute_rebuild_instance",
    "reboot": "compute_reboot_instance",
    "start": "compute_start_instance",
    "stop": "compute_stop_instance",
    "rescue": "compute_rescue_instance",
    "unrescue": "compute_unrescue_instance",
    "lock": "api_lock",
    "unlock": "api_unlock",
}

#: The event of a server that waits until a machine is free. Nova has none like it.
WAIT = "wait_for_machine"

SUCCESS, ERROR = "Success", "Error"


@dataclass(frozen=True)
class ServerRequester:
    """The caller and the id of a request. ``why``: why the service itself does what it does, in a sentence."""

    project_id: str
    user_id: str
    request_id: str
    why: str | None = None


def begin(session: Session, server: Server, action: str, requester: ServerRequester) -> ServerAction:
    """Note that ``action`` was requested of the server, which has an id; it ends with ``finish``."""
    now = utcnow()
    entry = ServerAction(
        server_id=server.id,
        request_id=requester.request_id,
        action=action,
        project_id=requester.project_id,
        user_id=requester.user_id,
        events=[{**_event(EVENTS[action]), "details": requester.why, "why": requester.why}],
        started_at=now,
        updated_at=now,
    )
    session.add(entry)
    return entry


def finish(session: Session, server: Server, *, error: str | None = None, host: str | None = None) -> None:
    """Note that the last action of the server has ended, with ``error`` or in success, unless it is noted already."""
    entry = last(session, server)
    if entry is None or entry.events[-1]["finish_time"] is not None:
        return
    end(entry, error=error, host=host)


def end(entry: ServerAction, *, error: str | None = None, host: str | None = None) -> None:
    """Note that the last event of ``entry`` is over."""
    why = entry.events[-1].get("why")
    ended = {
        **entry.events[-1],
        "finish_time": utcnow().isoformat(),
        "result": ERROR if error else SUCCESS,
        "details": f"{why} {error}" if why and error else error,
        "host": host,
    }
    entry.events = [*entry.events[:-1], ended]
    entry.message = ERROR if error else None
    entry.updated_at = utcnow()


def try_again(session: Session, server: Server, reason: str, host: str | None) -> None:
    """Note that the last event of the server's action failed, and that the operation begins again."""
    entry = last(session, server)
    if entry is not None:
        add_attempt(entry, reason, host)


def add_attempt(entry: ServerAction, reason: str, host: str | None = None) -> None:
    """Note that the last event of ``entry`` failed on ``host``, and that another one begins."""
    end(entry, error=reason, host=host)
    entry.events = [*entry.events, _event(EVENTS[entry.action])]
    entry.message = None


def wait(session: Session, server: Server, reason: str) -> None:
    """Note that the server waits for a machine, because of ``reason``, before its action continues."""
    entry = last(session, server)
    if entry is not None:
        entry.events = [*entry.events[:-1], {**_event(WAIT), "details": reason}]


def go_on(session: Session, server: Server) -> None:
    """Note that the server has waited long enough, and that its action continues."""
    entry = last(session, server)
    if entry is not None:
        end(entry)
        entry.events = [*entry.events, _event(EVENTS[entry.action])]


def _event(name: str) -> dict[str, Any]:
    return {
        "event": name,
        "start_time": utcnow().isoformat(),
        "finish_time": None,
        "result": None,
        "details": None,
        "host": None,
    }


def last(session: Session, server: Server) -> ServerAction | None:
    """Return the newest action of the server."""
    query = select(ServerAction).where(ServerAction.server_id == server.id).order_by(ServerAction.id.desc()).limit(1)
    entry: ServerAction | None = session.scalars(query).first()
    return entry


def locking_project(session: Session, server: Server) -> str | None:
    """Return the project whose user locked the server; None if it is not locked, or that is not known."""
    if not server.locked:
        return None
    query = select(ServerAction.project_id).where(ServerAction.server_id == server.id, ServerAction.action == "lock")
    found: str | None = session.scalars(query.order_by(ServerAction.id.desc()).limit(1)).first()
    return found


def list_actions(session: Session, server_id: int) -> Rows:
    """Return the actions of a server, the newest first."""
    query = select(ServerAction).where(ServerAction.server_id == server_id).order_by(ServerAction.id.desc())
    return session.scalars(query).all()


def find(session: Session, server_id: int, server_uuid: str, request_id: str) -> ServerAction:
    """Return the action that a request began. Raises ActionNotFound."""
    query = select(ServerAction).where(ServerAction.server_id == server_id, ServerAction.request_id == request_id)
    entry = session.scalars(query.order_by(ServerAction.id.desc())).first()
    if entry is None:
        raise ActionNotFound(request_id=request_id, server=server_uuid)
    return entry


@dataclass(frozen=True)
class Reason:
    """``message`` is for all who see the server. ``details`` are for administrators: they may name the node, its
    conductor and the driver's message. Without details, the message is complete. ``passes``: the cause is machines that
    are held back or in use now, so waiting may help."""

    message: str
    details: str = ""
    passes: bool = False

    @property
    def in_full(self) -> str:
        """The message for administrators."""
        return self.details or self.message

    def continued(self, sentence: str) -> "Reason":
        """Return the reason with one more sentence."""
        details = f"{self.details} {sentence}" if self.details else ""
        return replace(self, message=f"{self.message} {sentence}", details=details)


#: What failed when a node is in one of these states.
_FAILED = {
    states.DEPLOYFAIL: "The deployment of the server failed.",
    states.RESCUEFAIL: "The rescue of the server failed.",
    states.UNRESCUEFAIL: "The end of the server's rescue failed.",
    states.SERVICEFAIL: "A service of the server's machine failed.",
    states.ADOPTFAIL: "The adoption of the server's machine failed.",
    states.ERROR: "The server could not be taken off its machine.",
}


def of_state(node_uuid: str, provision_state: str, last_error: str | None) -> Reason:
    """Return why a server is in error whose node has come to this provision state."""
    said = last_error or f"Node {node_uuid} is in provision state '{provision_state}'."
    return Reason(f"{_FAILED[provision_state]} An administrator can see why.", said)
