"""What explanations are asked with, and what they say."""

from dataclasses import dataclass, field, replace

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import Membership, live_members
from baremetal_sched.baremetal.matching import sentences
from baremetal_sched.baremetal.matching.masks import Analysis, Condition, Verdict
from baremetal_sched.baremetal.matching.question import Asker
from baremetal_sched.baremetal.matching.scan import Scanned, Unknown, WaitingGroup, in_words
from baremetal_sched.placement.tables import PROVIDERS
from baremetal_sched.settings import Settings

#: Each part of a request fits, and no machine all of them together.
COMBINATION = "combination"

#: The microversion of placement that queries are written for.
VERSION = 39


@dataclass(frozen=True)
class ServedPart:
    """A part in the closest tree: the provider (UUID) that is closest to it, and which conditions it fails, if any."""

    parameter: str
    provider: str | None
    failing: list[Condition]


@dataclass(frozen=True)
class ClosestTree:
    """The tree in which most parts are served, each by itself; of several, where the fewest conditions fail, and of
    these the one whose root has the least UUID. ``trees``: how many look the same to the request.

    ``constraints``: what between the groups is in the way where each part is served. UUIDs are None where they may not
    be named.
    """

    root: str | None
    trees: int
    parts: list[ServedPart]
    constraints: list[Condition]


@dataclass(frozen=True)
class Explained:
    """The explanation of a question, where ``wanted`` machines are requested.

    ``parts``: for a request that several providers of a tree serve together, each part by itself, by its parameter,
    with the providers that could serve it; its own machines are trees then. ``closest``: the tree that comes closest,
    if none fits. ``of_project``: only machines that the project of the request may use are counted.
    """

    wanted: int
    fitting: int
    verdict: str
    analysis: Analysis
    scanned: Scanned
    unknown: list[Unknown] = field(default_factory=list)
    groups: list[WaitingGroup] = field(default_factory=list)
    parts: dict[str, "Explained"] = field(default_factory=dict)
    closest: ClosestTree | None = None
    of_project: bool = False

    @property
    def summary(self) -> str:
        """All of it in one sentence."""
        if self.parts:
            unmet = {parameter: part.summary for parameter, part in self.parts.items() if not part.fitting}
            return sentences.of_parts(self.verdict, self.fitting, unmet)
        if self.verdict == COMBINATION:
            found = self.analysis
            return sentences.together(found.fitting or found.among, if_free=not found.fitting)
        found = replace(self.analysis, fitting=self.fitting, verdict=Verdict(self.verdict))
        return in_words(found, self.scanned, self.unknown, of_project=self.of_project)


@dataclass(frozen=True)
class Context:
    """What every explanation needs: ``wanted`` machines for ``asker``, of all or of one ``machine`` (UUID).

    ``unrestricted``: allocations of the asker may get the nodes of anyone.
    """

    session: Session
    settings: Settings
    asker: Asker
    wanted: int = 1
    machine: str | None = None
    unrestricted: bool = False

    def tree(self) -> ColumnElement[bool] | None:
        """Return the condition that a provider of ``PROVIDERS`` is in the tree of the machine; None: any is."""
        if self.machine is None:
            return None
        return PROVIDERS.c.root_id.in_(select(PROVIDERS.c.root_id).where(PROVIDERS.c.uuid == self.machine))

    def membership(self) -> Membership:
        """Return the live conductors."""
        return live_members(self.session, self.settings)
