"""Findings of an import: contradictions, things without a place here, and remarks; each with a remedy."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum

from baremetal_sched.errors import InvalidValue


class FindingKind(Enum):
    """The kinds of findings: the word for each, and what adopting one does (empty: it cannot be adopted)."""

    IN_FLIGHT = "in-flight", ""
    DRIVER = "driver", ""
    INTERFACE = "interface", ""
    LEFTOVER_CLASS = "leftover-class", "the inventory is left out, and a claim of it becomes one of the node's class"
    SEVERAL_CONSUMERS = "several-consumers", "the claim of the node's instance is taken, and the others are left out"
    OTHER_CONSUMER = "other-consumer", "the claim is taken as it is, beside the node's instance"
    ORPHAN_ALLOCATION = "orphan-allocation", "the allocation is left out"
    PROVIDER_WITHOUT_NODE = "provider-without-node", "it is taken as a provider of its own"
    NODE_WITHOUT_PROVIDER = "node-without-provider", "the node gets a new provider"
    PROVIDER_IN_TREE = "provider-in-tree", "the provider becomes a root"
    UNFIT = "unfit", ""
    IN_MOTION = "in-motion", ""
    REWRITTEN = "rewritten", ""
    NO_PLACE = "no-place", ""
    NOTE = "note", ""

    def __init__(self, word: str, adoption: str) -> None:
        self.word = word
        self.adoption = adoption


#: They do not stop an import.
_REMARKS = frozenset({FindingKind.NO_PLACE, FindingKind.NOTE, FindingKind.IN_MOTION, FindingKind.REWRITTEN})


@dataclass(frozen=True)
class ImportFinding:
    """A finding about ``subject`` (a UUID, or the name of something), and its remedy.

    ``may_be_adopted``: ``--adopt`` helps here.
    """

    kind: FindingKind
    subject: str
    text: str
    remedy: str = ""
    may_be_adopted: bool = True

    def __str__(self) -> str:
        said = f"{self.kind.word} {self.subject}: {self.text}."
        if self._is_adoptable:
            said += f" --adopt {self.kind.word}:{self.subject}: {self.kind.adoption}."
        # A remedy may end with a command, so it comes last.
        either = "Or else: " if self._is_adoptable and self.remedy else ""
        return f"{said} {either}{self.remedy}".rstrip()

    @property
    def _is_adoptable(self) -> bool:
        return bool(self.kind.adoption) and self.may_be_adopted


@dataclass(frozen=True)
class Adoptions:
    """The findings that the operator adopts: whole kinds, by their words, and single ones as ``kind:subject``."""

    named: frozenset[str]

    @classmethod
    def of(cls, texts: Collection[str]) -> "Adoptions":
        """Return the findings that ``--adopt`` names. Raises InvalidValue for a kind that does not exist or cannot be
        adopted."""
        words = [kind.word for kind in FindingKind if kind.adoption]
        for text in texts:
            if text.partition(":")[0] not in words:
                raise InvalidValue(
                    message=f"--adopt {text}: it must begin with one of {', '.join(words)}; add :UUID for just one."
                )
        return cls(frozenset(texts))

    def has(self, finding: ImportFinding) -> bool:
        """Return whether ``finding`` is adopted."""
        if not finding._is_adoptable:
            return False
        return not self.named.isdisjoint({finding.kind.word, f"{finding.kind.word}:{finding.subject}"})


@dataclass
class ImportReport:
    """The findings of an import, refusals first; and the numbers of rows that it wrote, by table."""

    adoptions: Adoptions
    frozen: bool = False
    blocking: list[ImportFinding] = field(default_factory=list)
    adopted: list[ImportFinding] = field(default_factory=list)
    remarks: list[ImportFinding] = field(default_factory=list)
    would_take: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)

    def add(self, finding: ImportFinding) -> None:
        """Add a finding where it belongs."""
        if self.adoptions.has(finding):
            self.adopted.append(finding)
        elif finding.kind not in _REMARKS or (self.frozen and finding.kind is FindingKind.IN_MOTION):
            self.blocking.append(finding)
        else:
            self.remarks.append(finding)

    def lines(self) -> Iterator[str]:
        """Yield a line for each finding."""
        for finding in self.blocking:
            yield f"refused: {finding}"
        for finding in self.adopted:
            yield f"adopted: {finding.kind.word} {finding.subject}: {finding.text}; {finding.kind.adoption}"
        for finding in self.remarks:
            yield str(finding)
