"""Which machines a request may have, in plain Python: the rules, and in one table where doors differ.

A door is where a machine is asked for: a route of an API, or a page.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

#: Names that nobody has created, and a trait that only the provider of a machine has: the scheduler above wrote it.
UNKNOWN_CLASS, UNKNOWN_TRAIT, OF_SCHEDULER = "bronze", "CUSTOM_NOBODY", "COMPUTE_NODE"


class Door(StrEnum):
    """Where a machine is asked for."""

    CANDIDATES = "allocation candidates"
    CLAIM_BY_QUERY = "a claim by query"
    CLAIM_BY_FLAVOR = "a claim by flavor"
    CLAIM_BY_CLASS = "a claim by class"
    ALLOCATION = "an allocation"
    SERVER = "a server"
    DRY_RUN = "a dry run"
    EXPLAINED_QUERY = "the explanation of a query"
    EXPLAINED_FLAVOR = "the explanation of a flavor"
    EXPLAINED_CLASS = "the explanation of a class"
    PAGE = "the page"
    PAGE_OF_QUERY = "the page with a query"
    PAGE_OF_FLAVOR = "the page with a flavor"


BY_QUERY = frozenset({Door.CANDIDATES, Door.CLAIM_BY_QUERY, Door.EXPLAINED_QUERY, Door.PAGE, Door.PAGE_OF_QUERY})
BY_FLAVOR = frozenset({Door.CLAIM_BY_FLAVOR, Door.SERVER, Door.DRY_RUN, Door.EXPLAINED_FLAVOR, Door.PAGE_OF_FLAVOR})
BY_CLASS = frozenset({Door.CLAIM_BY_CLASS, Door.ALLOCATION, Door.EXPLAINED_CLASS})
EVERY = BY_QUERY | BY_FLAVOR | BY_CLASS


class Rule(StrEnum):
    """A rule that does not hold at every door."""

    REFUSES_UNKNOWN_NAMES = "names that there are not are refused"
    OWNED_OR_LEASED = "a project gets what it owns or leases, and not what is nobody's"
    TRAITS_OF_NODE = "traits are those of the node, without those that the scheduler above gave its provider"
    SERVED = "a conductor has to serve the machine"
    IGNORES_LOCKS = "a machine that a conductor is working on can be had"


#: Where doors differ: what Placement, Ironic and Nova prescribe. All else is the same at every door.
RULES: Mapping[Rule, frozenset[Door]] = MappingProxyType(
    {
        # Placement answers them with 400.
        Rule.REFUSES_UNKNOWN_NAMES: frozenset({Door.CANDIDATES}),
        # Ironic's allocations of a project get such nodes.
        Rule.OWNED_OR_LEASED: BY_CLASS,
        # Ironic's allocations know no providers.
        Rule.TRAITS_OF_NODE: BY_CLASS,
        # Nova has no host for other machines. Placement and Ironic's allocations do not ask.
        Rule.SERVED: BY_FLAVOR,
        # Placement knows no locks, so explanations of its queries do not count them.
        Rule.IGNORES_LOCKS: BY_QUERY - {Door.CLAIM_BY_QUERY},
    }
)


class Word(StrEnum):
    """What a request may ask for that not every door has words for."""

    PROJECT = "who asks for it"
    OWNER = "whose the machine is"
    ANY_TRAIT = "one of several traits"
    AGGREGATE = "an aggregate"
    CARD = "a child provider"


WORDS: Mapping[Word, frozenset[Door]] = MappingProxyType(
    {
        Word.PROJECT: EVERY - {Door.CANDIDATES},
        Word.OWNER: BY_CLASS,
        Word.ANY_TRAIT: BY_QUERY | BY_CLASS,
        Word.AGGREGATE: BY_QUERY - {Door.PAGE},
        Word.CARD: BY_QUERY - {Door.PAGE} | BY_FLAVOR,
    }
)


class Hindrance(StrEnum):
    """Why a machine is not free."""

    HOLD = "hold"
    CLAIM = "claim"
    INSTANCE = "instance"
    STATE = "provision state"
    POWER = "power state"
    LOCK = "lock"


@dataclass(frozen=True)
class Machine:
    """A node. ``cards`` are the traits of each of its child providers."""

    resource_class: str
    traits: frozenset[str]
    owner: str | None
    lessee: str | None
    aggregates: frozenset[str]
    hindrance: Hindrance | None
    served: bool
    of_scheduler: bool
    cards: tuple[frozenset[str], ...]


@dataclass(frozen=True)
class Traits:
    """What is asked of traits: all of some, none of some, and one of some."""

    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    one_of: frozenset[str] = frozenset()

    def accept(self, has: frozenset[str]) -> bool:
        return self.required <= has and not self.forbidden & has and (not self.one_of or bool(self.one_of & has))

    def forbids_what_it_asks_for(self) -> bool:
        """Return whether every door refuses it."""
        return bool(self.required & self.forbidden) or (bool(self.one_of) and self.one_of <= self.forbidden)

    def entries(self) -> list[str]:
        """Each condition as queries and allocations write it."""
        one_of = [f"in:{','.join(sorted(self.one_of))}"] if self.one_of else []
        return [*sorted(self.required), *one_of, *(f"!{name}" for name in sorted(self.forbidden))]

    def names(self) -> frozenset[str]:
        return self.required | self.forbidden | self.one_of


@dataclass(frozen=True)
class Request:
    """What is asked for. ``card``: a child provider with these traits, in a group of its own; or, if it is
    ``together``, in the same group, so that traits may be on either. ``project``: who asks; None: who may have all."""

    resource_class: str
    traits: Traits = Traits()
    card: Traits | None = None
    together: bool = False
    aggregate: str | None = None
    owner: str | None = None
    project: str | None = None

    def sensible(self) -> "Request":
        """The request without traits of a group that is not there, and without an owner that is not one's project."""
        card = self.card if self.card is None or not self.together else Traits()
        owner = self.owner if self.project in (None, self.owner) else None
        return replace(self, card=card, together=self.together and card is not None, owner=owner)

    def words(self) -> dict[Word, bool]:
        """What it takes to express the request."""
        return {
            Word.PROJECT: self.project is not None,
            Word.OWNER: self.owner is not None,
            Word.ANY_TRAIT: bool(self.traits.one_of or (self.card and self.card.one_of)),
            Word.AGGREGATE: self.aggregate is not None,
            Word.CARD: self.card is not None,
        }

    def is_expressed_by(self, door: Door) -> bool:
        return all(door in WORDS[word] for word, is_needed in self.words().items() if is_needed)

    def unknown(self) -> set[str]:
        """The names in it that there are not, without that of its class."""
        return {UNKNOWN_TRAIT} & (self.traits.names() | (self.card or Traits()).names())


def fits(door: Door, request: Request, machine: Machine) -> bool:
    """Return whether the machine is what is asked for at the door, be it free or not."""
    own = machine.traits
    if machine.of_scheduler and door not in RULES[Rule.TRAITS_OF_NODE]:
        own |= {OF_SCHEDULER}
    if request.card is None:
        has_traits = request.traits.accept(own)
    elif request.together:
        has_traits = any(request.traits.accept(own | card) for card in machine.cards)
    else:
        has_traits = request.traits.accept(own) and any(map(request.card.accept, machine.cards))
    return (
        machine.resource_class == request.resource_class
        and has_traits
        and request.aggregate in (None, *machine.aggregates)
        and request.owner in (None, machine.owner, machine.lessee)
        and may_have(door, request, machine)
    )


def may_have(door: Door, request: Request, machine: Machine) -> bool:
    """Return whether the machine is for those who ask."""
    if request.project is None:
        return True
    if door in RULES[Rule.OWNED_OR_LEASED]:
        return request.project in (machine.owner, machine.lessee)
    return (machine.lessee or machine.owner) in (None, request.project)


def is_free(door: Door, machine: Machine) -> bool:
    """Return whether the machine can be had at the door now, by whom it fits."""
    if machine.hindrance is Hindrance.LOCK and door not in RULES[Rule.IGNORES_LOCKS]:
        return False
    return machine.hindrance in (None, Hindrance.LOCK) and (machine.served or door not in RULES[Rule.SERVED])
