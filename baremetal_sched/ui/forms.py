"""The parameters of a list, as the form of a page submits them, and proposals for them: the classes, conductor groups
and traits that there are."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import InstrumentedAttribute, Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.nodes.node_filters import TRAIT_FILTERS
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Node, NodeTrait
from baremetal_sched.suggestions import did_you_mean

#: In a form, an empty conductor group means any; this is the one without a name. No group can have it for a name.
DEFAULT_GROUP = "(default)"


class FormQuery(BaremetalQuery):
    """The parameters of a form, in which the conductor group without a name is written as DEFAULT_GROUP."""

    def text(self, name: str) -> str | None:
        text = super().text(name)
        return "" if name == "conductor_group" and text is not None and text.lower() == DEFAULT_GROUP else text


def submitted(call: BaremetalCall, known: Collection[str]) -> FormQuery:
    """Return the parameters of the request; only those in ``known`` are allowed.

    Controls that were left empty do not count. Traits may be separated by blanks too. Raises InvalidValue.
    """
    call.refuse_unknown(known)
    call.query = [(name, _tidy(name, value)) for name, value in call.query if value.strip()]
    return FormQuery(call, known)


def _tidy(name: str, value: str) -> str:
    if name in TRAIT_FILTERS:
        return ",".join(value.replace(",", " ").split())
    return value.strip()


def without(pairs: Collection[tuple[str, str]], *names: str) -> dict[str, Any]:
    """Return the parameters except for ``names``, for an address; repeated ones as lists."""
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        if name not in names:
            found.setdefault(name, []).append(value)
    return found


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


def read_proposals(session: Session, visible: Visibility) -> Proposals:
    """Return what there is to propose; three statements: SELECT DISTINCT resource_class FROM nodes …"""
    groups = distinct(session, Node.conductor_group, visible)
    traits = select(NodeTrait.trait).distinct().order_by(NodeTrait.trait).limit(MOST)
    if not visible.everything:
        traits = traits.where(NodeTrait.node_id.in_(select(Node.id).where(*visible.conditions())))
    return Proposals(
        [name for name in distinct(session, Node.resource_class, visible) if name],
        [name or DEFAULT_GROUP for name in groups],
        list(session.scalars(traits)),
    )


def distinct(
    session: Session, column: InstrumentedAttribute[str] | InstrumentedAttribute[str | None], visible: Visibility
) -> list[str | None]:
    """Return the values of a column of visible nodes, sorted, MOST at most."""
    return list(session.scalars(select(column).distinct().where(*visible.conditions()).order_by(column).limit(MOST)))


def _similar(name: str, known: list[str]) -> str:
    """A node's class and trait are written in any letters: compare them in small ones."""
    by_small = {each.lower(): each for each in known}
    said = did_you_mean(name, by_small)
    for small, each in by_small.items():
        said = said.replace(f"'{small}'", f"'{each}'")
    return said
