"""Proposals for filters: the classes, conductor groups and traits that there are."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Node, NodeTrait
from baremetal_sched.suggestions import did_you_mean
from baremetal_sched.ui.forms import DEFAULT_GROUP

#: The number of names of a kind that a page proposes.
MOST = 500


@dataclass(frozen=True)
class Proposals:
    """Names of visible nodes, sorted: at most MOST of a kind."""

    classes: list[str]
    groups: list[str]
    traits: list[str]

    def meant(self, resource_class: str | None, group: str | None, traits: list[str]) -> str:
        """Return sentences on names that no node has, with the most similar one; empty if there are none."""
        wrong = [("resource class", resource_class, self.classes), ("conductor group", group, self.groups)]
        wrong += [("trait", trait, self.traits) for trait in traits]
        return " ".join(
            f"No node has the {kind} '{name}'.{_similar(name, known)}"
            for kind, name, known in wrong
            if name and name not in known and len(known) < MOST
        )


def read(session: Session, visible: Visibility) -> Proposals:
    """Return what there is to propose; three statements: SELECT DISTINCT resource_class FROM nodes …"""
    groups = _distinct(session, Node.conductor_group, visible)
    traits = select(NodeTrait.trait).distinct().order_by(NodeTrait.trait).limit(MOST)
    if not visible.everything:
        traits = traits.where(NodeTrait.node_id.in_(select(Node.id).where(*visible.conditions())))
    return Proposals(
        [name for name in _distinct(session, Node.resource_class, visible) if name],
        [name or DEFAULT_GROUP for name in groups],
        list(session.scalars(traits)),
    )


def _distinct(
    session: Session, column: InstrumentedAttribute[str] | InstrumentedAttribute[str | None], visible: Visibility
) -> list[str | None]:
    return list(session.scalars(select(column).distinct().where(*visible.conditions()).order_by(column).limit(MOST)))


def _similar(name: str, known: list[str]) -> str:
    """A node's class and trait are written in any letters: compare them in small ones."""
    by_small = {each.lower(): each for each in known}
    said = did_you_mean(name, by_small)
    for small, each in by_small.items():
        said = said.replace(f"'{small}'", f"'{each}'")
    return said
