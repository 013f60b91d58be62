"""Provision verbs: changes of a node's state by clients. Checked and begun here, carried on by the node's conductor.

A request is one transaction: the checks, the change of state, the node's reservation with the work, and the change in
placement. So a node that is being cleaned or deployed is never offered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.conductors import driver_calls, work_queue
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.holds import guards
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provisioning import completion, validation
from baremetal_sched.baremetal.state_machine import ABORTED_SERVICE, RESUME, VERBS
from baremetal_sched.db.models import Node
from baremetal_sched.db.sealing import readable
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.errors.baremetal import (
    NodeBusy,
    NodeInMaintenance,
    NodeIsRetired,
    NodeKeptFree,
    NodeProtected,
    ServiceInMaintenance,
    TooManyAtOnce,
    VerbRefused,
)
from baremetal_sched.machines import states
from baremetal_sched.settings import Settings

#: Arguments of work on a node.
Arguments = dict[str, Any]


@dataclass(frozen=True)
class Order:
    """A request: a verb and its arguments. ``project``: the project for which the node is deployed, or None.

    ``steps`` are steps of cleaning, deploying or servicing that the client named. ``checked``: the driver validates the
    node first; otherwise errors appear when the work begins.
    """

    verb: str
    steps: Sequence[Mapping[str, Any]] = ()
    configdrive: str | Mapping[str, Any] | None = None
    rescue_password: str | None = None
    hashed_rescue_password: str | None = None
    disable_ramdisk: bool = False
    project: str | None = None
    checked: bool = True

    @property
    def event(self) -> str:
        """The event of the verb."""
        return VERBS[self.verb].event


@dataclass(frozen=True)
class _OrderContext:
    """An order for a node, with everything that its check needs."""

    session: Session
    node: Node
    order: Order
    membership: Membership
    settings: Settings


#: Events, besides deploying, that are refused in maintenance, with their names in messages. All others are allowed.
_NOT_IN_MAINTENANCE = {
    state_machine.CLEAN: "cleaning",
    "rescue": "rescuing",
    "unrescue": "unrescuing",
    "service": "service",
}


def require_accepted(node: Node, verb: str | None) -> None:
    """Raise VerbRefused unless the node's state takes ``verb``, NodeBusy if that may change soon.

    NodeInMaintenance comes before both.
    """
    known = VERBS.get(verb or "")
    if known and known.event in ("deploy", "rebuild") and node.maintenance:
        raise NodeInMaintenance(operation="provisioning", node=node.uuid)
    if known is None or not state_machine.accepts(node.provision_state, known.event):
        if node.reservation is not None:
            raise NodeBusy(node=node.uuid, host=node.reservation)
        raise _refused(node, verb)


def _refused(node: Node, verb: str | None) -> VerbRefused:
    """Return the error that the state does not take the verb, with the verbs that it takes."""
    verbs = [_action(each) for each in state_machine.verbs_of(node.provision_state)]
    possible = f"Possible now: {', '.join(verbs)}." if verbs else "Nothing is possible until a conductor has finished."
    return VerbRefused(verb=_action(verb), node=node.uuid, state=node.provision_state, possible=possible)


def _action(verb: str | None) -> str:
    """Return the verb's name in messages: clients deploy a node with the target ``active``."""
    return "deploy" if verb == "active" else str(verb)


def request(session: Session, node: Node, order: Order, membership: Membership, settings: Settings) -> None:
    """Do at once what ``order`` asks of ``node`` (its row locked), if that is possible, and request the rest of its
    conductor.

    Raises Unanswered; NodeLockedOut, the errors of ``require_accepted``, NoValidHost, NoConductors, NodeLocked,
    NodeInMaintenance, NodeKeptFree, ServiceInMaintenance,
    NodeProtected, NodeIsRetired, TooManyAtOnce, and InvalidValue if the node is not fit for it.
    """
    guards.require_no_lockout(session, node)
    require_accepted(node, order.verb)
    if order.event == "deploy" and guards.is_kept_free(session, node):
        raise NodeKeptFree(operation="provisioning", node=node.uuid)
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    nodes.require_unlocked(node)
    if node.maintenance and order.event in _NOT_IN_MAINTENANCE:
        raise NodeInMaintenance(operation=_NOT_IN_MAINTENANCE[order.event], node=node.uuid)
    if order.event in ("delete", "rebuild") and node.protected:
        raise NodeProtected(node=node.uuid)
    if order.event == "provide" and node.retired:
        raise NodeIsRetired(node=node.uuid)
    arguments: Arguments = {"steps": list(order.steps), "disable_ramdisk": order.disable_ramdisk}
    arguments |= _prepare(_OrderContext(session, node, order, membership, settings))
    if order.event == "abort":
        _abort(session, node, owner)
        return
    target = states.MANAGEABLE if order.event == state_machine.CLEAN else None
    state_machine.move(node, order.event, target)
    after = node.provision_state
    if after in state_machine.TRANSIENT:
        node.last_error = None
        work_queue.request(session, node, owner, after, arguments)
    elif order.event == "unhold":
        node.last_error = None
        work_queue.request(session, node, owner, RESUME, {})
    else:
        completion.clear_progress(node)
        node.touch()


def resume(
    session: Session, node: Node, membership: Membership, data: Mapping[str, Mapping[str, Any]] | None = None
) -> None:
    """Continue the work on the node (its row locked, in a waiting state), as its agent has reported.

    ``data``, of an inspection only, is what it found: ``inventory`` and ``plugin_data``. Raises VerbRefused if the
    node does not wait, NodeLocked, NoValidHost, NoConductors.
    """
    if not state_machine.accepts(node.provision_state, RESUME):
        raise _refused(node, RESUME)
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    nodes.require_unlocked(node)
    work_queue.request(session, node, owner, RESUME, data or {})


#: By waiting or held state: the operation that is aborted, and the column with the current step.
_ABORTED: Mapping[str, tuple[str, str | None]] = {
    states.CLEANWAIT: ("cleaning", "clean_step"),
    states.CLEANHOLD: ("cleaning", "clean_step"),
    states.INSPECTWAIT: ("inspection", None),
    states.DEPLOYWAIT: ("deployment", "deploy_step"),
    states.DEPLOYHOLD: ("deployment", "deploy_step"),
    states.RESCUEWAIT: ("rescue", None),
    states.SERVICEWAIT: ("service", "service_step"),
    states.SERVICEHOLD: ("service", "service_step"),
}


def _abort(session: Session, node: Node, owner: str) -> None:
    """Abort the operation, or mark the current step as the last one if it must not be interrupted.

    The machine of an aborted service is given back to its instance by the conductor. An aborted rescue loses its
    password. Raises ServiceInMaintenance.
    """
    state = node.provision_state
    if state == states.SERVICEFAIL and node.maintenance:
        raise ServiceInMaintenance(node=node.uuid)
    if state in _ABORTED:
        operation, column = _ABORTED[state]
        step = readable(getattr(node, column)) if column is not None else {}
        if column is not None and step.get("abortable") is False:
            setattr(node, column, {**step, "abort_after": True})
            node.touch()
            return
        completion.note_abort(session, node, operation, "at", step)
    else:
        node.last_error = None
    if state == states.RESCUEWAIT:
        completion.forget_rescue_password(node)
    state_machine.move(node, "abort")
    if node.provision_state == states.ACTIVE:
        completion.clear_steps(node)
        work_queue.request(session, node, owner, ABORTED_SERVICE, {})
    else:
        completion.clear_progress(node)
        node.touch()


def _validate(context: _OrderContext, doing: str, *interfaces: str) -> None:
    """Have the driver validate these interfaces, unless the conductor does so when the work begins."""
    if not context.order.checked:
        return
    node = context.node
    try:
        driver_calls.answer(context.session, node, context.membership, "validate", {"interfaces": list(interfaces)})
    except SchedulerError as error:
        raise InvalidValue(message=f"Validation failed. Cannot {doing} node {node.uuid}. Error: {error}") from error


def _prepare_deploy(context: _OrderContext) -> Arguments:
    """Check whether the node can be deployed, and store its config drive and lessee; return the templates."""
    _limit(context.session, context.settings.conductor.max_concurrent_deploy, states.DEPLOYING, states.DEPLOYWAIT)
    node, order, settings = context.node, context.order, context.settings
    if order.checked:
        templates = validation.require_deployable(context.session, node, context.membership, order.steps)
    else:
        templates = validation.require_traits(context.session, node)
    if order.configdrive:
        node.instance_info = {**(node.instance_info or {}), "configdrive": order.configdrive}
    leases = settings.conductor.automatic_lessee and order.event == "deploy"
    if leases and order.project and node.lessee is None:
        node.lessee = order.project
        node.driver_internal_info = {**(node.driver_internal_info or {}), "automatic_lessee": True}
    return {"templates": templates}


#: Events that end in cleaning, which is limited.
_CLEANING = ("delete", state_machine.CLEAN, "provide")

#: Events before which interfaces are validated: the verb in messages, and these interfaces.
_VALIDATED = {
    "delete": ("undeploy", "power"),
    state_machine.CLEAN: ("clean", "power", "network"),
    "inspect": ("inspect", "power", "inspect"),
    "rescue": ("rescue", "power", "rescue", "network"),
    "unrescue": ("unrescue", "power"),
    "service": ("service", "power", "network"),
}


def _prepare(context: _OrderContext) -> Arguments:
    """Check whether the node is fit for the order, and store what the order brings along; return arguments of the
    work."""
    node, order = context.node, context.order
    if order.event in ("deploy", "rebuild"):
        return _prepare_deploy(context)
    if order.event in _CLEANING:
        _limit(context.session, context.settings.conductor.max_concurrent_clean, states.CLEANING, states.CLEANWAIT)
    if order.event in _VALIDATED:
        _validate(context, *_VALIDATED[order.event])
    if order.event == "rescue":
        passwords = {
            "rescue_password": order.rescue_password,
            "hashed_rescue_password": order.hashed_rescue_password,
        }
        node.instance_info = {**(node.instance_info or {}), **passwords}
    return {}


def _limit(session: Session, most: int, *busy: str) -> None:
    """Raise TooManyAtOnce if ``most`` nodes are in one of these states already.

    SELECT count(*) FROM nodes WHERE provision_state IN (…)
    """
    if most and (session.scalar(select(func.count()).where(Node.provision_state.in_(busy))) or 0) >= most:
        raise TooManyAtOnce(most=most, state=busy[0])
