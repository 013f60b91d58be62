"""Driver calls: a request writes them to the database, a conductor makes them, and the reply is stored in the row.

No driver is called in a request, nor in any transaction. A view that needs a driver raises Unanswered, and its
transaction is rolled back. With no transaction open, the application then waits for the driver's reply. For a question
(``answer``), the view is run again and finds the reply. For an order (``order``), which changes the machine, the
response is made of the reply, so that the machine is told only once.
"""

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn

from sqlalchemy import Text, and_, bindparam, delete, func, insert, not_, or_, select, true, type_coerce, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.conductors.driver_replies import Reply
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.conductors.work_queue import HeldWork
from baremetal_sched.baremetal.holds import guards
from baremetal_sched.db import compiled, requester
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.compiled import IDS
from baremetal_sched.db.models import DriverCall, Node, table_of
from baremetal_sched.db.requester import Requester
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Reader, Writer, connection_of, dump_json
from baremetal_sched.errors.baremetal import NodeChanged, NodeLocked, NodeNotFound

#: The key in ``session.info`` of the replies that drivers have sent for the request.
_ANSWERS = "driver_answers"

NO_ARGUMENTS: Mapping[str, Any] = {}

# Created once: creating a statement takes longer than running it.
_CALLS, _NODES = table_of(DriverCall), table_of(Node)
_OF_REQUESTER = ("request_id", "user_id", "project_id")
_GIVEN = ("token", "hardware_type", "conductor", "method", "arguments", "idempotent", "work_id", *_OF_REQUESTER)
_VALUES = {
    **{name: bindparam(name, type_=_CALLS.c[name].type) for name in _GIVEN},
    "requested_at": epoch(),
    "deadline": epoch() + bindparam("seconds", type_=_CALLS.c.deadline.type),
}
_ID = bindparam("node_id", type_=_CALLS.c.node_id.type)
_IS_LOCKED_OUT = and_(_NODES.c.maintenance == true(), guards.IS_LOCKED_OUT)
_INSERT = insert(_CALLS).values(node_id=_ID, **_VALUES)
#: INSERT INTO driver_calls (…) SELECT n.id, … FROM nodes n WHERE n.id = :node_id AND NOT (n.maintenance AND …)
_INSERT_OF_NODE = insert(_CALLS).from_select(
    ["node_id", *_VALUES], select(_NODES.c.id, *_VALUES.values()).where(_NODES.c.id == _ID, not_(_IS_LOCKED_OUT))
)
_REPLIES = select(_CALLS.c.id, type_coerce(_CALLS.c.reply, Text).label("reply")).where(_CALLS.c.id.in_([IDS]))
_FORGET = delete(_CALLS).where(_CALLS.c.id.in_([IDS]))
_PROCESS = bindparam("process", type_=_CALLS.c.claimed_by.type)
_ASKS = and_(_CALLS.c.idempotent == true(), _CALLS.c.work_id.is_(None))
_REPLY = (
    update(_CALLS)
    .where(_CALLS.c.id == bindparam("call"), _CALLS.c.reply.is_(None), or_(_ASKS, _CALLS.c.claimed_by == _PROCESS))
    .values(reply=bindparam("document", type_=_CALLS.c.reply.type), claimed_by=_PROCESS)
)


@lru_cache
def _insert(dialect: str, *, of_node: bool) -> Any:
    """Return the INSERT of a call, which returns its id where it can. PostgreSQL wakes the conductor with it."""
    statement: Any = _INSERT_OF_NODE if of_node else _INSERT
    match dialect:
        case "postgresql":
            created = statement.returning(_CALLS.c.id).cte("created")
            conductor = bindparam("conductor", type_=_CALLS.c.conductor.type)
            return select(created.c.id, func.pg_notify(work_queue.CHANNEL, conductor))
        case "sqlite":
            return statement.returning(_CALLS.c.id)
        case _:
            return statement


#: Makes the response of what the driver said.
Then = Callable[[Any], Any]


@dataclass(frozen=True)
class DriverQuestion:
    """A call of ``method`` of the driver of a node, as the view saw it; the fields of the node are None for a call of a
    hardware type. ``reserves``: the node is reserved during the call.

    ``then``, for an order only, makes the response.
    """

    node_id: int | None
    node_uuid: str | None
    driver: str
    revision: int | None
    conductor: str
    method: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reserves: bool = False
    then: Then | None = None

    @property
    def key(self) -> tuple[int | None, str, str]:
        """Return the key that distinguishes this question from others."""
        return self.node_id, self.method, dump_json(self.arguments)

    @property
    def subject(self) -> str:
        """The node or hardware type whose driver is called, in words."""
        return f"Driver {self.driver}" if self.node_uuid is None else f"Node {self.node_uuid}"


class Unanswered(Exception):
    """The transaction cannot continue until the code that runs it has called a driver."""

    def __init__(self, question: DriverQuestion) -> None:
        self.question = question
        super().__init__(f"{question.method} has not been called: {question.subject}")


class Answers:
    """The replies of drivers to one request."""

    def __init__(self) -> None:
        self._replies: dict[tuple[int | None, str, str], Reply] = {}

    def attach(self, session: Session) -> None:
        """Let ``answer`` find them in the session."""
        session.info[_ANSWERS] = self

    def keep(self, question: DriverQuestion, reply: Reply) -> None:
        """Note the answer to a question."""
        self._replies[question.key] = reply

    def find(self, question: DriverQuestion) -> Reply | None:
        """Return the reply, if any, unless the node has changed since. A node that was reserved cannot change."""
        reply = self._replies.get(question.key)
        if reply is None or not (question.reserves or reply.revision == question.revision):
            return None
        return reply


def answer(
    session: Session,
    node: Node,
    membership: Membership,
    method: str,
    arguments: Mapping[str, Any] = NO_ARGUMENTS,
    *,
    reserves: bool = False,
) -> Any:
    """Return the result of ``method`` of the node's driver, which changes nothing, so it may be called more than once.

    Raises Unanswered if it has not been called yet, or if the node has changed since; NoConductors, NoValidHost; and
    the errors of the driver.
    """
    question = _question(node, membership, method, arguments, reserves=reserves)
    answers: Answers | None = session.info.get(_ANSWERS)
    reply = None if answers is None else answers.find(question)
    if reply is None:
        raise Unanswered(question)
    return reply.get()


def order(
    node: Node,
    membership: Membership,
    method: str,
    arguments: Mapping[str, Any],
    then: Then,
    *,
    reserves: bool = True,
) -> NoReturn:
    """Have ``method`` of the node's driver called once; the response to the request is ``then(result)``.

    Raises Unanswered, NoConductors, NoValidHost.
    """
    raise Unanswered(_question(node, membership, method, arguments, reserves=reserves, then=then))


def order_of_type(
    session: Session,
    hardware_type: str,
    membership: Membership,
    method: str,
    arguments: Mapping[str, Any],
    then: Then | None,
    seconds: float,
) -> None:
    """Have ``method`` of a hardware type called once, by any conductor that serves it, within ``seconds``.

    ``then`` makes the response of the result, and Unanswered is raised; with None, no request waits for the result.
    """
    serving = [hosts for (_, served), hosts in membership.members.items() if served == hardware_type]
    conductor = min(set().union(*serving))
    question = DriverQuestion(None, None, hardware_type, None, conductor, method, arguments, then=then)
    if then is not None:
        raise Unanswered(question)
    write_down(session, question, str(uuid.uuid4()), seconds, idempotent=False)


def _question(
    node: Node,
    membership: Membership,
    method: str,
    arguments: Mapping[str, Any],
    *,
    reserves: bool,
    then: Then | None = None,
) -> DriverQuestion:
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    return DriverQuestion(node.id, node.uuid, node.driver, node.revision, owner, method, arguments, reserves, then)


def write_down(
    writer: Writer,
    question: DriverQuestion,
    token: str,
    seconds: float,
    *,
    idempotent: bool | None = None,
    by: Requester | None = None,
) -> int:
    """Request the call from the conductor, which must begin it within ``seconds``; return its id.

    ``idempotent``: it may be made twice; by default, unless it is an order. ``token`` is a new UUID, by which the call
    is found if the answer to the commit is lost. Raises NodeNotFound, NodeLockedOut; if the node is to be reserved,
    NodeLocked, and NodeChanged if it has changed since the view saw it. That needs a session; a connection needs to be
    told the requester (``by``).
    """
    work_id = None
    if isinstance(writer, Session):
        by = requester.of(writer)
    if question.reserves and isinstance(writer, Session):
        session = writer
        node = session.get(Node, question.node_id, with_for_update=True)
        if node is None:
            raise NodeNotFound(node=question.node_uuid)
        if node.reservation is not None:
            raise NodeLocked(node=node.uuid, host=node.reservation)
        if node.revision != question.revision:
            raise NodeChanged(node=node.uuid)
        work_id = work_queue.request(session, node, question.conductor, work_queue.CALL, {})
    values = {
        **dict.fromkeys(_OF_REQUESTER),
        **(by or requester.UNKNOWN).known(),
        "token": token,
        "node_id": question.node_id,
        "hardware_type": question.driver,
        "conductor": question.conductor,
        "method": question.method,
        "arguments": dict(question.arguments),
        "idempotent": question.then is None if idempotent is None else idempotent,
        "work_id": work_id,
        "seconds": seconds,
    }
    connection = connection_of(writer)
    dialect, of_node = connection.dialect.name, question.node_id is not None and not question.reserves
    result = compiled.change(connection, _insert(dialect, of_node=of_node), values)
    work_queue.note_work(connection)
    call_id: int | None = result.scalar() if result.rows else result.lastrowid if rows_changed(result) else None
    if call_id is None:
        with Session(connection) as session:
            _refuse(session, question)
    return call_id


def _refuse(session: Session, question: DriverQuestion) -> NoReturn:
    """Raise the reason why the call of a node was not written."""
    node = session.get(Node, question.node_id)
    if node is None:
        raise NodeNotFound(node=question.node_uuid)
    guards.require_no_lockout(session, node)
    raise StaleDataError("the node was just released")


def find(reader: Reader, token: str) -> int | None:
    """Return the id of the call with this token, or None if it was not written."""
    found: int | None = reader.scalar(select(DriverCall.id).where(DriverCall.token == token))
    return found


def work_of(call: DriverCall) -> HeldWork | None:
    """Return the work for which the node is reserved during the call, as that of the call's conductor; None if there is
    none."""
    if call.work_id is None or call.node_id is None:
        return None
    return HeldWork(call.work_id, call.node_id, call.conductor)


def withdraw(session: Session, call_id: int) -> bool:
    """Withdraw a call, and free its node. Returns False, and changes nothing, if a conductor may have begun it."""
    call = session.get(DriverCall, call_id, with_for_update=True)
    if call is None or call.claimed_by is not None:
        return False
    if (work := work_of(call)) is not None:
        work_queue.finish(session, work)
    session.execute(delete(DriverCall).where(DriverCall.id == call_id))
    return True


def find_replies(reader: Reader, call_ids: Collection[int]) -> dict[int, Any]:
    """Return the replies (documents of ``driver_replies``) by the ids of the calls; None for a call without a reply
    yet.

    A call that is not among them has been deleted with its node.
    """
    connection, kind = connection_of(reader), DriverCall.reply.type
    rows = compiled.run(connection, _REPLIES, {}, call_ids)
    return {call_id: kind.process_result_value(text, connection.dialect) for call_id, text in rows}


def forget(writer: Writer, call_ids: Collection[int]) -> None:
    """Delete calls that no request waits for."""
    compiled.change(connection_of(writer), _FORGET, {}, call_ids)


def reply(writer: Writer, call_id: int, process: str, document: Mapping[str, Any]) -> bool:
    """Store the result of a call that ``process`` has claimed, or that only asks something.

    Returns False if no request waits for it.
    """
    given = {"call": call_id, "process": process, "document": dict(document)}
    return bool(rows_changed(compiled.change(connection_of(writer), _REPLY, given)))


#: The kind of work that this is.
KIND = "driver"


def request_work(
    session: Session, node: Node, membership: Membership, interface: str, method: str, failure: str, **arguments: Any
) -> None:
    """Request a call of ``method``, named with its interface, from the conductor of ``node`` (its row locked, not
    reserved).

    If it fails, ``last_error`` begins with ``failure``; what the interface's ``validate`` refuses is refused at once.
    Raises Unanswered, NoConductors, NoValidHost, and the errors of the driver.
    """
    answer(session, node, membership, "validate", {"interfaces": [interface]})
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    node.last_error = None
    work = {"method": f"{interface}.{method}", "arguments": arguments, "failure": failure}
    work_queue.request(session, node, owner, KIND, work)
