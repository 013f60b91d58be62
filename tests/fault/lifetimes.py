"""The answers to clients about things that they made and deleted: to find out whether the final state can follow from
them.

Nodes, images, and what holds a node: an allocation of the bare metal API, a claim in placement, a server. A request
that was answered with success has happened, one that was refused has not, and any other may have or not, even after
its client gave up waiting: but as a whole. No UUID is used twice.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from tests.fault.claim_journal import FOREVER, Period, doubles

KINDS = NODE, IMAGE, ALLOCATION, CLAIM, SERVER = "node", "image", "allocation", "claim", "server"
#: What is done to a thing; MAINTAIN is the request that lets a node be deleted whoever holds it.
MAKE, LOOK, DELETE, MAINTAIN = "make", "look", "delete", "maintain"
_CONFLICT = 409

#: A thing: its kind and UUID.
Key = tuple[str, str]
#: What is left: by thing, what each place that knows of it says. All places must say the same.
Left = Mapping[Key, Mapping[str, str | None]]


class Outcome(StrEnum):
    """The client's knowledge about its request."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Line:
    """One request; ``status`` is 0 if there was no answer. Times are those of ``time.monotonic``.

    ``node`` is what the answer said that the thing holds, ``image`` what a server was to be booted from.
    """

    kind: str
    uuid: str
    act: str
    status: int
    sent: float
    answered: float
    node: str = ""
    image: str = ""

    @property
    def outcome(self) -> Outcome:
        """The known facts."""
        if 200 <= self.status < 300:
            return Outcome.ACKNOWLEDGED
        return Outcome.REFUSED if 400 <= self.status < 500 else Outcome.UNKNOWN

    @property
    def is_acknowledged(self) -> bool:
        """It has happened."""
        return self.outcome is Outcome.ACKNOWLEDGED

    @property
    def may_have_happened(self) -> bool:
        """It has, or that is not known."""
        return self.outcome is not Outcome.REFUSED


@dataclass
class Thing:
    """All lines about one thing."""

    key: Key
    lines: list[Line] = field(default_factory=list)
    #: Deletions that may have happened; those of a node that takes its holders along, too.
    ends: list[Line] = field(default_factory=list)

    @cached_property
    def made(self) -> Line:
        """The request that asked for it."""
        return next(line for line in self.lines if line.act == MAKE)

    @cached_property
    def given(self) -> Line | None:
        """The first answer that said which node it holds."""
        told = [line for line in self.lines if line.is_acknowledged and line.node]
        return min(told, key=lambda line: line.answered, default=None)

    @property
    def until(self) -> float:
        """Up to when it was there for certain."""
        return min((end.sent for end in self.ends), default=FOREVER)

    @cached_property
    def gone_at(self) -> float:
        """Return when it was gone for certain: its deletion was acknowledged, or it was not found."""
        known = [line.answered for line in self.lines if line.act == DELETE and line.is_acknowledged]
        if self.made.is_acknowledged:
            known += [line.answered for line in self.lines if line.status == 404]
        return min(known, default=FOREVER)

    @property
    def is_forced(self) -> bool:
        """A node whose holders did not keep it from being deleted."""
        return any(line.act == MAINTAIN and line.may_have_happened for line in self.lines)


class Lifetimes:
    """All lines of all clients together."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.things: dict[Key, Thing] = {}
        for line in lines:
            key = line.kind, line.uuid
            thing = self.things.setdefault(key, Thing(key))
            thing.lines.append(line)
            if line.act == DELETE and line.may_have_happened:
                thing.ends.append(line)
        self._holders: dict[str, list[tuple[Thing, Line]]] = defaultdict(list)
        for thing in self.things.values():
            if thing.given:
                self._holders[thing.given.node].append((thing, thing.given))
                node = self.things[NODE, thing.given.node]
                thing.ends += node.ends if node.is_forced else []

    def kind_of(self, consumer: str) -> str:
        """Return what a consumer is; a server if it is not in the journal, as the service chooses their UUIDs."""
        return next((kind for kind in (ALLOCATION, CLAIM) if (kind, consumer) in self.things), SERVER)

    def findings(self, left: Left) -> list[str]:
        """The contradictions, if this is all that is left."""
        found = [
            *doubles(
                Period(node, given.answered, thing.until, thing.key[1])
                for node, holders in self._holders.items()
                for thing, given in holders
            )
        ]
        for thing in self.things.values():
            found += [f"{' '.join(thing.key)} {what}" for what in (*self._of(thing), *_left_of(thing, left))]
        for (kind, uuid), places in left.items():
            if len({*places.values()}) > 1:
                found.append(f"{kind} {uuid} is there by half: {dict(places)}")
            if kind not in (NODE, IMAGE):
                gone = {node for node in places.values() if node and (NODE, node) not in left}
                found += [f"{kind} {uuid} is left on node {node}, which is not" for node in gone]
        return found

    def _of(self, thing: Thing) -> Iterator[str]:
        for line in thing.lines:
            was_there = thing.made.is_acknowledged and thing.made.answered <= line.sent
            if line.status == 404 and was_there and all(end.sent > line.answered for end in thing.ends):
                yield f"was not found at {line.answered:.3f}, and nobody had deleted it"
        if thing.key[0] == NODE:
            yield from self._of_node(thing)
        image = self.things.get((IMAGE, thing.made.image))
        if image and thing.made.is_acknowledged and thing.made.sent > image.gone_at:
            yield f"was booted from image {image.key[1]}, which was gone"

    def _of_node(self, node: Thing) -> Iterator[str]:
        for thing, given in self._holders[node.key[1]]:
            name = " ".join(thing.key)
            if given.sent > node.gone_at:
                yield f"was given to {name} when it was gone"
            elif thing.until > node.gone_at and not node.is_forced:
                yield f"was deleted under {name}"
            for line in node.lines:
                refused = line.act == DELETE and line.outcome is Outcome.REFUSED and line.status != _CONFLICT
                if refused and given.answered <= line.sent and line.answered <= thing.until and not node.is_forced:
                    yield f"could not be deleted under {name}, with status {line.status}"


def counts(lines: Iterable[Line]) -> Counter[tuple[str, str, Outcome]]:
    """How often each was done to each kind of thing, by outcome."""
    return Counter((line.kind, line.act, line.outcome) for line in lines)


def _left_of(thing: Thing, left: Left) -> Iterator[str]:
    # A server is deleted some time after that was promised, and stays in error if its node cannot be undeployed.
    if thing.key in left and thing.gone_at < FOREVER and thing.key[0] != SERVER:
        yield f"was gone at {thing.gone_at:.3f}, and is there"
    if thing.key in left and thing.made.outcome is Outcome.REFUSED:
        yield "was refused, and is there"
    if thing.ends:
        return
    if thing.key not in left and thing.made.is_acknowledged:
        yield "was made, and is not there"
    if thing.key in left and thing.given and thing.given.node not in left[thing.key].values():
        yield f"holds node {thing.given.node}, and is left with {dict(left[thing.key])}"
