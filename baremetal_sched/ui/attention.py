"""Problems of the fleet that need attention, the worst first, each with its remedy."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, and_, func, not_, or_, select, true
from sqlalchemy.orm import InstrumentedAttribute

from baremetal_sched import commands
from baremetal_sched.baremetal.conductors.ownership import alive
from baremetal_sched.baremetal.fleet import StateCount
from baremetal_sched.baremetal.provider import advice
from baremetal_sched.baremetal.provider.availability import DRIFTED
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor, Node, Webhook
from baremetal_sched.db.types import Query, Rows
from baremetal_sched.machines import states as machine
from baremetal_sched.scheduling.capacity import Figures
from baremetal_sched.ui.node_rows import FAILED_STATES, HAS_FAILED, is_stuck

#: The number of nodes that are named with their errors, the newest failures, and of conductors and webhooks.
MOST_NODES = 10
MOST_CONDUCTORS = MOST_WEBHOOKS = 20

_ANSWER = (
    "The management controller does not answer. Check it, its cables and driver_info: maintenance ends by itself when "
    "it answers again."
)
_MEND = "Repair the failed node, then unset maintenance: that clears the fault, too."
_STUCK = "Look at the log of the conductor and at the console of the machine; 'abort' ends what waits for it."
_DRIFTED = (
    "A client changed their resource providers directly. A conductor undoes that at its next reconciliation. "
    f"This says what differs:\n{commands.CHECK_DATABASE}"
)
_UNDONE = "Find out which client writes to resource providers of nodes: only the service may."
_GONE = "Look at its log and start it again, or remove it: others serve its nodes if its conductor group has any."
_FAILING = "Repair its receiver. It is tried again, and parked after a day without success."
_PARKED = "Repair its receiver, or delete it. To send what it has missed, as far as that is kept:\n"
_LATE = f"The list says why. Each is tried again by itself, at least every five minutes.\n{commands.LIST_LATE}"
_PINNED = "Finish the upgrade: when every process runs the new release, remove [DEFAULT] pin_release_version."


@dataclass(frozen=True)
class Attention:
    """Something that is wrong: its severity (a kind of chip), its name, and its remedy.

    ``count`` nodes are concerned, which the list ``of`` has with the parameters of ``query``.
    """

    kind: str
    what: str
    remedy: str
    count: int = 0
    query: Mapping[str, str] = field(default_factory=dict)
    of: str = "nodes"


def of_nodes(
    connection: Connection, states: Sequence[StateCount], classes: Sequence[Figures] | None, visible: Visibility
) -> list[Attention]:
    """Return the problems of nodes: faults, failures, operations that take long, providers that differ. At most two
    statements.

    SELECT fault, count(*) FROM nodes WHERE provision_state IN (…) AND fault IS NOT NULL GROUP BY fault
    SELECT provision_state, count(*) FROM nodes WHERE provision_state IN (…) AND provision_updated_at < … GROUP BY …
    """
    faulty = [each.provision_state for each in states if each.faulty]
    has_fault = and_(Node.provision_state.in_(faulty), Node.fault.is_not(None))
    faults = _counts(connection, Node.fault, has_fault, visible) if faulty else {}
    stuck = _counts(connection, Node.provision_state, is_stuck(), visible)
    failed = {each.provision_state: each.nodes for each in states if each.provision_state in FAILED_STATES}
    problems = [
        Attention("bad", fault, _ANSWER if fault == machine.POWER_FAILURE else _MEND, count, {"fault": fault})
        for fault, count in faults.items()
    ]
    problems += [
        Attention(
            "bad",
            state,
            f"Read the last error. {advice.to_make_available(Node(provision_state=state))}",
            count,
            {"provision_state": state, "failed": "true"},
        )
        for state, count in sorted(failed.items(), key=lambda each: -each[1])
    ]
    problems += [
        Attention("warn", f"{state} for more than an hour", _STUCK, count, {"provision_state": state, "stuck": "true"})
        for state, count in stuck.items()
    ]
    drifted = sum(each.unavailable.get(DRIFTED, 0) for each in classes or ())
    if drifted:
        problems.append(
            Attention("warn", "not on offer, though nothing is wrong", _DRIFTED, drifted, {"offer": DRIFTED})
        )
    return problems


def newest_failures(connection: Connection, states: Sequence[StateCount], visible: Visibility) -> Rows:
    """Return the nodes that failed last, with their errors, MOST_NODES at most. Only states in which ``states`` has
    failures are looked at, which an index finds.

    SELECT … FROM nodes WHERE provision_state IN (…) AND (<it is a failed one> OR fault IS NOT NULL) ORDER BY … LIMIT …
    """
    concerned = [each.provision_state for each in states if each.faulty or each.provision_state in FAILED_STATES]
    if not concerned:
        return ()
    since = func.coalesce(Node.provision_updated_at, Node.created_at).label("since")
    columns = (Node.uuid, Node.name, Node.provision_state, Node.fault, Node.last_error, Node.maintenance_reason)
    query: Query = select(*columns, since)
    query = query.where(Node.provision_state.in_(concerned), HAS_FAILED, *visible.conditions())
    return connection.execute(query.order_by(since.desc(), Node.id).limit(MOST_NODES)).all()


def of_conductors(connection: Connection, timeout: float) -> Iterator[Attention]:
    """Yield the problems of conductors: they are gone, pinned to an old release, or undid changes.

    SELECT hostname, conductor_group, <seconds since its heartbeat>, … FROM conductors WHERE NOT <alive> OR …
    """
    lives = alive(timeout)
    silence = (epoch() - Conductor.heartbeat_at).label("silence")
    columns = (Conductor.hostname, Conductor.pin_release_version, Conductor.undone_changes)
    wrong = or_(not_(lives), Conductor.pin_release_version.is_not(None), Conductor.undone_changes > 0)
    query = select(*columns, silence, lives.label("lives")).where(wrong).order_by(lives, Conductor.hostname)
    for host, pin, undone, seconds, is_alive in connection.execute(query.limit(MOST_CONDUCTORS)):
        if not is_alive:
            yield Attention("warn", f"Conductor {host} is gone: its last heartbeat was {_long(seconds)} ago", _GONE)
        if pin:
            yield Attention("warn", f"Conductor {host} is pinned to release {pin}", _PINNED)
        if undone:
            yield Attention("plain", f"Conductor {host} has undone {undone} changes of resource providers", _UNDONE)


def of_webhooks(connection: Connection, visible: Collection[ColumnElement[bool]]) -> Iterator[Attention]:
    """Yield the webhooks that are parked or whose attempts fail, of those that are ``visible``.

    SELECT uuid, name, last_error, parked, <seconds of failing> FROM webhooks
    WHERE (parked OR failing_since IS NOT NULL) AND … ORDER BY parked DESC, id LIMIT …
    """
    columns = (Webhook.uuid, Webhook.name, Webhook.last_error, Webhook.parked)
    query = select(*columns, (epoch() - Webhook.failing_since).label("failing")).where(*visible)
    query = query.where(or_(Webhook.parked == true(), Webhook.failing_since.is_not(None)))
    found = connection.execute(query.order_by(Webhook.parked.desc(), Webhook.id).limit(MOST_WEBHOOKS))
    for uuid, name, why, parked, seconds in found:
        if parked:
            remedy = _PARKED + commands.RESUME_WEBHOOK.of(webhook=uuid)
            yield Attention("warn", f"Webhook {name or uuid} is parked. {why or ''}".strip(), remedy)
        else:
            what = f"Webhook {name or uuid} has failed for {_long(max(0.0, seconds))}. {why or ''}".strip()
            yield Attention("warn", what, _FAILING)


def of_late_ends(number: int) -> list[Attention]:
    """Return the problem that ``number`` machines could not be given back at their ends; none if it is 0."""
    what = "could not be given back at its end" if number == 1 else "could not be given back at their ends"
    return [Attention("bad", what, _LATE, number, {"late": "true"}, "claims")] if number else []


def _counts(
    connection: Connection,
    column: InstrumentedAttribute[str] | InstrumentedAttribute[str | None],
    condition: ColumnElement[bool],
    visible: Visibility,
) -> dict[str, int]:
    query = select(column, func.count()).where(condition, *visible.conditions()).group_by(column)
    return {value or "": count for value, count in connection.execute(query.order_by(func.count().desc(), column))}


def _long(seconds: float) -> str:
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    return next((f"{int(seconds // size)} {unit}" for unit, size in units if seconds >= size), "0 s")
