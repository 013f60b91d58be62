"""Who gets a machine when it is free: the first claim that waits for its class and that it seems to fit."""

from dataclasses import replace

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.matching.node_explanation import Finding, NodeExplanation, explain
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import Node, WaitingRequest
from baremetal_sched.placement import waiting_requests
from baremetal_sched.scheduling.queue import queue_of
from baremetal_sched.settings import Settings


def find(session: Session, node: str, resource_class: str, settings: Settings) -> WaitingRequest | None:
    """Return the claim that would get the node (a UUID), of this class in placement, if it were free; None if none
    waits for it.

    Traits, owner and names are looked at, but not what only a search in the node's tree can tell.
    """
    found = queue_of(session.connection(), node, resource_class, settings.scheduling.most_tested)
    return waiting_requests.first_of(session, found.entries[0]) if found is not None and found.entries else None


def explain_node(
    session: Session,
    node: Node,
    membership: Membership,
    settings: Settings,
    *,
    names_others: bool = True,
    project: str | None = None,
) -> NodeExplanation:
    """Explain whether the node is offered, and who is next.

    ``names_others``: whether consumers, and the conductor that works on it, are named. A claim of ``project``, that of
    the caller, is always named.
    """
    explained = explain(session, node, membership, names_others=names_others)
    name = explained.resource_class
    waiting = None if name is None else find(session, node.uuid, name, settings)
    if waiting is None:
        return explained
    return replace(explained, remarks=[*explained.remarks, _finding(waiting, names_others, project)])


def _finding(waiting: WaitingRequest, names_others: bool, project: str | None) -> Finding:
    who = f"{waiting.kind} {waiting.uuid}"
    if waiting.consumer_project == project:
        who += " of your project"
    else:
        who = f"{who} of project {waiting.consumer_project}" if names_others else "another project"
    return Finding(
        "next claim",
        f"When it is free, it goes to {who}, which has waited since {in_words(waiting.asked_at)}.",
        "Nothing is to be done. To give it to somebody else, that claim has to be cancelled.",
    )
