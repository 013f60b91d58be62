"""The parts of a request: what one provider has to give each, as conditions that can be looked at one by one.

Each condition is asked with the search's own rules for a provider (``can_satisfy``, ``is_eligible``), of a group that
asks for nothing else.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching import wording
from baremetal_sched.baremetal.matching.masks import Condition, Kind
from baremetal_sched.db.transaction import selecting
from baremetal_sched.explain.changed_requests import aggregate_sets, without
from baremetal_sched.explain.explanation import VERSION
from baremetal_sched.explain.tree_shapes import Shape
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.candidates.request.resolve import by_ids, look_up, with_unknown
from baremetal_sched.placement.candidates.request.resolved_request import Group, ResolvedRequest
from baremetal_sched.placement.candidates.sql import single_provider
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider
from baremetal_sched.placement.candidates.trees.slots import can_satisfy, is_eligible
from baremetal_sched.placement.query_values import AggregateConditions, TraitConditions

#: Whether the provider, as it is (first) and as it would be if everything were free, meets a condition in the tree.
Holds = Callable[[Anchor, Provider, Provider], bool]


@dataclass(frozen=True)
class Test:
    """A condition, and the same in Python."""

    condition: Condition
    holds: Holds


@dataclass(frozen=True)
class Part:
    """What one provider has to supply: a group with a suffix, or one class of the group without."""

    parameter: str
    group: RequestGroup
    tests: list[Test]

    @property
    def classes(self) -> frozenset[str]:
        """The ids of the conditions on classes."""
        return frozenset(wording.of_class(name, 0, self.group.suffix).id for name in self.group.resources)

    @property
    def conditions(self) -> list[Condition]:
        """The conditions on a provider, in the order of the bits of ``masks``."""
        return [test.condition for test in self.tests]

    def masks(self, shape: Shape) -> list[int]:
        """Return which conditions each provider of the shape fails, a bit for each."""
        free = [*shape.free.local, *shape.free.sharing]
        pairs = list(zip(shape.providers, free, strict=True))
        return [
            sum(1 << place for place, test in enumerate(self.tests) if not test.holds(shape.now, now, if_free))
            for now, if_free in pairs
        ]


class Asked:
    """A request by ids, in which unknown names have ids that nothing has; some conditions may be left out.

    ``known``: the ids of the names that there are. ``is_flat``: whether every candidate is one provider, so that one
    scan of the providers is a complete explanation.
    """

    def __init__(self, session: Session, request: CandidateRequest) -> None:
        connection = selecting(session)
        self.request = request
        self.known = look_up(connection, request)
        self.ids = with_unknown(request, self.known)
        self.wanted: ResolvedRequest = by_ids(request, self.ids, VERSION)
        self.is_flat = single_provider.applies(connection, self.wanted)
        self._changed: dict[frozenset[str], ResolvedRequest | None] = {}

    def without(self, drop: frozenset[str]) -> ResolvedRequest | None:
        """Return the request by ids without these conditions; None if it asks for nothing then."""
        if drop not in self._changed:
            changed = without(self.request, drop)
            self._changed[drop] = None if changed is None else by_ids(changed, self.ids, VERSION)
        return self._changed[drop]

    def parts(self) -> list[Part]:
        """Return the parts of the request, each with its parameter."""
        found = []
        for suffix, group in self.request.groups.items():
            if suffix:
                found.append(self._part(f"resources{suffix}", group))
                continue
            for name, amount in group.resources.items():
                parameter = "resources" if len(group.resources) == 1 else f"resources={name}:{amount}"
                one = RequestGroup("", {name: amount}, group.traits, group.aggregates, group.in_tree)
                found.append(self._part(parameter, one))
        return found

    def _part(self, parameter: str, group: RequestGroup) -> Part:
        found = [*self._classes(group), *self._traits(group), *self._places(group), *self._of_root()]
        tests = list({test.condition.id: test for test in found}.values())
        return Part(parameter, group, sorted(tests, key=lambda test: test.condition.kind is not Kind.REQUEST))

    def _classes(self, group: RequestGroup) -> Iterator[Test]:
        for name, amount in group.resources.items():
            class_id = self.ids.classes[name]
            yield Test(wording.of_class(name, amount, group.suffix), _gives_if_free(class_id, amount))
            yield Test(wording.of_free(name, amount, group.suffix), _gives(class_id, amount))

    def _traits(self, group: RequestGroup) -> Iterator[Test]:
        suffix = group.suffix
        for wanted in group.traits.required:
            some = frozenset(self.ids.traits[name] for name in wanted)
            together = not suffix and len(self.request.groups[suffix].resources) > 1
            holds = _somebody_has(some) if together else _has(some)
            yield Test(wording.of_traits(wanted, suffix), holds)
        for name in sorted(group.traits.forbidden):
            of_ids = self._group(RequestGroup(suffix, traits=TraitConditions(forbidden={name})))
            yield Test(wording.of_forbidden(name, suffix), _suits(of_ids))

    def _places(self, group: RequestGroup) -> Iterator[Test]:
        suffix = group.suffix
        for sets in aggregate_sets(group):
            of_ids = self._group(RequestGroup(suffix, aggregates=AggregateConditions(sets)))
            yield Test(wording.of_aggregates(sets, suffix), _suits(of_ids))
        for uuid in sorted(group.aggregates.forbidden):
            of_ids = self._group(RequestGroup(suffix, aggregates=AggregateConditions(forbidden={uuid})))
            yield Test(wording.of_forbidden_aggregate(uuid, suffix), _suits(of_ids))
        if group.in_tree is not None:
            of_ids = self._group(RequestGroup(suffix, in_tree=group.in_tree))
            yield Test(wording.of_tree(group.in_tree, suffix), _suits(of_ids))

    def _of_root(self) -> Iterator[Test]:
        root = self.request.root_required
        for wanted in root.required:
            yield Test(wording.of_root_traits(wanted), _root_has(frozenset(self.ids.traits[name] for name in wanted)))
        for name in sorted(root.forbidden):
            yield Test(wording.of_root_forbidden(name), _root_lacks(frozenset([self.ids.traits[name]])))

    def _group(self, group: RequestGroup) -> Group:
        (of_ids,) = by_ids(CandidateRequest({group.suffix: group}), self.ids, VERSION).groups
        return of_ids


def _gives(class_id: int, amount: int) -> Holds:
    return lambda anchor, now, free: now.gives(class_id, amount)


def _gives_if_free(class_id: int, amount: int) -> Holds:
    return lambda anchor, now, free: free.gives(class_id, amount)


def _suits(group: Group) -> Holds:
    if group.suffix:
        return lambda anchor, now, free: can_satisfy(group, now)
    return lambda anchor, now, free: is_eligible(group, anchor, now)


def _has(traits: frozenset[int]) -> Holds:
    return lambda anchor, now, free: now.has((traits,), frozenset())


def _somebody_has(traits: frozenset[int]) -> Holds:
    """Traits of a group without suffix are those of the providers that serve its classes, all together."""
    return lambda anchor, now, free: any(
        not traits.isdisjoint(provider.traits) for each in (anchor.local, anchor.sharing) for provider in each
    )


def _root_has(traits: frozenset[int]) -> Holds:
    return lambda anchor, now, free: anchor.root.has((traits,), frozenset())


def _root_lacks(traits: frozenset[int]) -> Holds:
    return lambda anchor, now, free: anchor.root.has((), traits)


def ids_of(conditions: list[Condition], mask: int) -> Mapping[str, Condition]:
    """Return the conditions of the mask by id, without parts of other ones in it."""
    failed = {condition.id: condition for place, condition in enumerate(conditions) if mask >> place & 1}
    return {name: condition for name, condition in failed.items() if condition.part_of not in failed}
