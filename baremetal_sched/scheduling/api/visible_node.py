"""The node that a path names, if the caller may ask about it."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Node
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.web.call import Call


def find(call: Call, session: Session, ident: str, rule: str) -> tuple[Node, Mapping[str, Any]]:
    """Return the node with this UUID or name, and the facts about it for policy rules.

    Raises NodeNotFound if it does not exist, or if the caller does not meet ``rule``.
    """
    found = nodes.find(session, ident)
    whose = {"node.owner": found.owner, "node.lessee": found.lessee}
    target = {**call.target, **{name: project for name, project in whose.items() if project is not None}}
    if not call.allows(rule, target):
        raise NodeNotFound(node=ident)
    return found, target
