"""Explanations of requests that several providers of a tree serve together. The search is run again: on trees as they
are, as they would be if everything were free, and without some of the conditions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, islice

from sqlalchemy import ColumnElement, exists, select

from baremetal_sched.baremetal.matching.conditions import ISOLATE, PROJECT, Condition, Kind, of_subtree, of_traits
from baremetal_sched.baremetal.matching.explanation import ClosestTree, Explanation, ServedPart
from baremetal_sched.baremetal.matching.masks import Masks, Relaxation, Verdict, analyse
from baremetal_sched.baremetal.matching.question import Question, names_of, nodes_source, providers_source
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.scan import TOO_LITTLE, Scan, unknown_names
from baremetal_sched.baremetal.matching.tree_shapes import Forest, Shape, Tree
from baremetal_sched.baremetal.provider.availability import PROVIDER, reason
from baremetal_sched.db import deadline
from baremetal_sched.db.models import Node
from baremetal_sched.explain.request_conditions import ExplainedRequest, Part
from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit, TookTooLong
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.placement.candidates.trees.providers import Anchor, ProviderRow

#: Machines are counted up to this number, or to how many are wanted if that is more.
MOST_COUNTED = 1000

#: Conditions between parts that are not conditions of one request parameter.
TOGETHER = Condition("together", "its providers serve all parts together")
ROOM = Condition("room", "one provider has enough for all that it alone could give")
TRAITS_TOGETHER = Condition("required", "the providers of what has no suffix have all required traits together")

#: Of more constraints than this between groups, sets of more than one are not tried.
_FEW = 8

#: Limits of relaxations: how many sets are tried, of how many conditions, on how many of the closest shapes of trees;
#: how many sets are returned; and the seconds for all of them, if explanations may take any time.
_TRIED = 400
_LARGEST = 2
_SHAPES = 200
_FOUND = 20
_SECONDS = 5.0

#: The number of candidates that are read for trees of one shape if providers share: each may be on another machine.
_CANDIDATES = 20_000


class ShapeMatch:
    """A shape of trees, with which conditions each of its providers fails, by part; and whether it fits the request.

    ``nearest``: by part, the place of the provider that fails the fewest conditions, and these; none if it serves the
    part. Of several providers it is one that could give the resources, or at least has some of them, and of these the
    one with the least UUID. ``rank``: the key by which trees are compared; the closest tree has the least.
    """

    def __init__(self, request: ExplainedRequest, parts: list[Part], shape: Shape, limit: TimeLimit) -> None:
        self.shape = shape
        self.masks = [[part.mask(shape.now, *provider) for provider in shape.providers] for part in parts]
        by_part = list(zip(parts, self.masks, strict=True))
        self.fits = all(0 in masks for masks in self.masks) and _fits(request.resolved, [shape.now], limit)
        could = all(any(not mask & part.request_bits for mask in masks) for part, masks in by_part)
        self.fits_if_free = self.fits or (could and _fits(request.resolved, [shape.free], limit))
        self.nearest = [self._nearest(request, part, masks) for part, masks in by_part]
        unserved = [failing for _, failing in self.nearest if failing]
        self.serves_all = not unserved
        self.rank = len(unserved), sum(map(len, unserved)), shape.uuid

    def _nearest(self, request: ExplainedRequest, part: Part, masks: list[int]) -> tuple[int, list[Condition]]:
        rows, providers = self.shape.rows, self.shape.providers

        def distance(place: int) -> tuple[int, bool, int, str]:
            failing = part.failed(masks[place])
            lacks = any(each.id in part.classes for each in failing)
            stock = providers[place][0].inventories
            absent = sum(request.ids.classes[name] not in stock for name in part.group.resources)
            return len(failing), lacks, absent, rows[place].uuid

        place = min(range(len(masks)), key=distance)
        return place, part.failed(masks[place])


class TreeScan:
    """The result of a request in the trees that meet ``roots``, a condition on ``PROVIDERS.c.root_id``; None: in all.

    Raises TookTooLong, as all of its methods do.
    """

    def __init__(self, context: MachineContext, request: ExplainedRequest, roots: ColumnElement[bool] | None) -> None:
        self._context = context
        self._request = request
        limits = (context.settings.scheduling.explain_time_limit or None, deadline.remaining())
        seconds = min((each for each in limits if each is not None), default=None)
        self._seconds = seconds or _SECONDS
        self._limit = TimeLimit(seconds)
        self._parts = request.parts()
        # A machine that the caller may ask about is examined even if the project cannot use it.
        machine, named = context.machine, context.named
        self._is_usable = machine is None or context.session.scalar(
            select(exists().where(Node.uuid == machine, *context.usable()))
        )
        self._forest = Forest(context, request.resolved, roots, self._limit)
        self._matches = [ShapeMatch(request, self._parts, shape, self._limit) for shape in self._forest.shapes]
        self._missed = sorted((match for match in self._matches if not match.fits), key=lambda match: match.rank)
        self.fits_if_free = any(match.fits_if_free for match in self._matches)
        #: The UUIDs of the nodes that may be named; None: everything may.
        self._named: frozenset[str] | None = None
        if not named.everything:
            self._named = frozenset(context.session.scalars(select(Node.uuid).where(*named.conditions())))
        self._most = max(context.needed, MOST_COUNTED)
        self.fitting, already = self._machines(request.resolved) if self._is_usable else (0, [])
        self._already = set(already)

    def explanation(self) -> Explanation:
        """Return the explanation of the request."""
        context, fitting = self._context, self.fitting
        reasons = self._reasons()
        parts = {part.parameter: self._of_part(place, part, reasons) for place, part in enumerate(self._parts)}
        scanned = self._scan(reasons)
        analysis = analyse(self._conditions(), scanned.masks, context.needed)
        relaxations, exact = ([], True) if fitting >= context.needed else self.relaxations()
        names, source = names_of(self._request.request), providers_source(nodes_only=context.project is not None)
        question = Question([], source, context.usable(), names, of_providers=True)
        return Explanation(
            context.needed,
            fitting,
            self._verdict(parts),
            replace(analysis, fitting=fitting, relaxations=relaxations, exact=exact),
            scanned,
            unknown_names(context.session, question),
            parts=parts,
            closest=None if fitting else self.closest(),
        )

    def _verdict(self, parts: Mapping[str, Explanation]) -> Verdict:
        if self.fitting:
            return Verdict.FITS if self.fitting >= self._context.needed else Verdict.SHORT
        if any(part.verdict == Verdict.IMPOSSIBLE for part in parts.values()):
            return Verdict.IMPOSSIBLE
        return Verdict.BUSY if self.fits_if_free else Verdict.COMBINATION

    # -- trees as machines ---------------------------------------------------------------------------------------------

    def _conditions(self) -> list[Condition]:
        """Conditions on a tree: two of each part, and that it serves them together."""
        found = [] if self._is_usable else [Condition(PROJECT, "may be used by the project", Kind.AVAILABILITY)]
        for part in self._parts:
            name = part.parameter
            found.append(Condition(name, f"has a provider that could serve {name}"))
            free = f"its providers that could serve {name} are free"
            found.append(Condition(f"availability:{name}", free, Kind.AVAILABILITY, name))
        return [*found, TOGETHER]

    def _scan(self, reasons: Mapping[int, str]) -> Scan:
        masks, busy = Masks(), Counter[str]()
        for match in self._matches:
            self._limit.check()
            trees = match.shape.trees
            example = self._namable(trees)
            masks.add(self._mask(match), len(trees), None if example is None else example.uuid)
            if not match.fits and match.fits_if_free:
                busy.update(reasons.get(tree.root_id, TOO_LITTLE) for tree in trees)
        return Scan(self._forest.trees, masks, dict(sorted(busy.items())), self._forest.sample)

    def _mask(self, match: ShapeMatch) -> int:
        """Each tree fails for its own reasons: a failure of one part is not reported as a failure of all of them
        together."""
        bits = [] if self._is_usable else [True]
        for part, masks in zip(self._parts, match.masks, strict=True):
            could = any(not mask & part.request_bits for mask in masks)
            bits += [not could, could and 0 not in masks]
        bits.append(match.serves_all and not match.fits)
        return sum(bit << place for place, bit in enumerate(bits))

    def _namable(self, trees: Iterable[Tree]) -> Tree | None:
        """The first tree whose providers may be named."""
        return next((tree for tree in trees if self._named is None or tree.uuid in self._named), None)

    def closest(self) -> ClosestTree | None:
        """Return the tree that comes closest to fitting, among the trees that do not fit; None if there is none."""
        if not self._missed:
            return None
        match = self._missed[0]
        shape, rows = match.shape, match.shape.rows
        is_named = self._named is None or shape.uuid in self._named
        # What shares with the tree is of another tree.
        named = len(rows) if self._named is None else len(shape.now.local) if is_named else 0
        served = [
            ServedPart(part.parameter, rows[place].uuid if place < named else None, failing)
            for part, (place, failing) in zip(self._parts, match.nearest, strict=True)
        ]
        constraints = self._constraints(shape.now) if match.serves_all else []
        return ClosestTree(shape.uuid if is_named else None, len(shape.trees), served, constraints)

    def _constraints(self, anchor: Anchor) -> list[Condition]:
        """The fewest conditions between request groups without which a tree that serves each part would fit. If there
        is none, single providers are too small for all parts that they would serve.
        """
        every = list(_between_groups(self._request))
        sizes = range(1, len(every) + 1) if len(every) <= _FEW else (1, len(every))
        for some in (some for size in sizes for some in combinations(every, size)):
            resolved = self._request.without(frozenset[str]().union(*(drop for _, drop in some)))
            if resolved is not None and _fits(resolved, [anchor], self._limit):
                return [condition for condition, _ in some]
        return [ROOM]

    # -- relaxations ---------------------------------------------------------------------------------------------------

    def relaxations(self) -> tuple[list[Relaxation], bool]:
        """Return the smallest sets of up to two conditions without which another tree fits, and on how many machines
        there are candidates then; and whether these are all of the smallest ones."""
        if not self._is_usable:
            return [], True
        sets, exact = self._smallest()
        relaxations = []
        for drop in sets:
            resolved = self._request.without(drop)
            if resolved is None:
                continue
            would_fit, uuids = self._machines(resolved)
            others = (uuid for uuid in uuids if uuid not in self._already)
            example = next((uuid for uuid in others if self._named is None or uuid in self._named), None)
            if would_fit > self.fitting:
                relaxations.append(Relaxation(tuple(sorted(drop)), would_fit, example))
        return sorted(relaxations, key=lambda each: (len(each.drop), -each.would_fit, each.drop)), exact

    def _smallest(self) -> tuple[list[frozenset[str]], bool]:
        """The sets, and whether none is missing. Larger ones are not tried, so without any, one may be missing."""
        ids = [each.id for part in self._parts for each in part.conditions if each.kind is Kind.REQUEST]
        ids += [name for condition, drop in _between_groups(self._request) for name in drop if name == condition.id]
        units = list(dict.fromkeys(ids))
        anchors = [match.shape.now for match in self._missed[:_SHAPES]]
        # Some of the time is for the other parts of the explanation.
        limit, tried = TimeLimit(self._seconds / 3), 0
        smallest: list[frozenset[str]] = []
        for drop in (frozenset(some) for size in range(1, _LARGEST + 1) for some in combinations(units, size)):
            if any(each < drop for each in smallest):
                continue
            if tried == _TRIED or len(smallest) == _FOUND:
                return smallest, False
            tried += 1
            resolved = self._request.without(drop)
            try:
                if resolved is not None and _fits(resolved, anchors, limit):
                    smallest.append(drop)
            except TookTooLong:
                return smallest, False
        return smallest, len(self._missed) <= _SHAPES and (bool(smallest) or len(units) <= _LARGEST)

    def _machines(self, resolved: ResolvedRequest) -> tuple[int, list[str]]:
        """How many machines have a candidate, as far as they are counted, and the UUIDs of these, in order.

        The machine of a candidate is the tree in which it is found. If all resources are shared, it is the sharing
        provider, which has no UUID here. Trees of the same shape have the same candidates.
        """
        machines: dict[int, str | None] = {}
        for shape in self._forest.shapes:
            own = {provider.id for provider in shape.now.local if not provider.shares}
            for candidate in islice(candidates(resolved, [shape.now], time_limit=self._limit), _CANDIDATES):
                if own.isdisjoint(candidate.allocations):
                    machines.setdefault(min(candidate.roots), None)
                    continue
                machines.update((tree.root_id, tree.uuid) for tree in shape.trees)
                if shape.now.is_alone:
                    break
            if len(machines) >= self._most:
                break
        return min(len(machines), self._most), sorted(filter(None, machines.values()))

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _of_part(self, place: int, part: Part, reasons: Mapping[int, str]) -> Explanation:
        """The explanation of a part, with providers as machines."""
        masks, busy = Masks(), Counter[str]()
        # A sharing provider may serve several trees: the one in which it fails least counts.
        shared: dict[int, tuple[int, ProviderRow]] = {}
        for match in self._matches:
            self._limit.check()
            trees = match.shape.trees
            example = self._namable(trees)
            rows = match.shape.rows
            for number, (mask, (provider, _)) in enumerate(zip(match.masks[place], match.shape.providers, strict=True)):
                if provider.shares:
                    before, _ = shared.get(provider.id, (None, None))
                    if before is None or mask.bit_count() < before.bit_count():
                        shared[provider.id] = mask, rows[number]
                    continue
                masks.add(mask, len(trees), None if example is None else example.members[number].uuid)
                if mask and not mask & part.request_bits:
                    busy.update(_why(reasons, tree.members[number]) for tree in trees)
        for mask, row in shared.values():
            masks.add(mask, 1, row.uuid if self._named is None else None)
            if mask and not mask & part.request_bits:
                busy[_why(reasons, row)] += 1
        needed, sample = self._context.needed, self._forest.sample
        analysis = analyse(part.conditions, masks, needed, one_stays=part.classes)
        nodes = analysis.nodes if sample is None else self._forest.providers
        scanned = Scan(nodes, masks, dict(sorted(busy.items())), None if sample is None else analysis.nodes)
        return Explanation(needed, analysis.fitting, analysis.verdict, analysis, scanned)

    def _reasons(self) -> dict[int, str]:
        """Why nodes are not free, by the id of the provider: SELECT p.id, CASE … END FROM nodes …

        Asked only if something is not free that would fit otherwise.
        """
        by_part = (pair for match in self._matches for pair in zip(self._parts, match.masks, strict=True))
        if not any(mask and not mask & part.request_bits for part, masks in by_part for mask in masks):
            return {}
        machine = self._context.machine
        about = self._context.usable() if machine is None else (Node.uuid == machine,)
        inner = select(PROVIDER.c.id, reason().label("reason")).select_from(nodes_source())
        inner = inner.where(PROVIDER.c.id.is_not(None), PROVIDER.c.id % self._forest.step == 0, *about)
        nodes = inner.subquery()
        rows = self._context.session.execute(select(nodes).where(nodes.c.reason.is_not(None)))
        return {row_id: word for row_id, word in rows}


def _why(reasons: Mapping[int, str], row: ProviderRow) -> str:
    """Why the provider is not free. A provider below a machine is held back for the machine's reason."""
    return reasons.get(row.id) or reasons.get(row.root_id, TOO_LITTLE)


def _fits(resolved: ResolvedRequest, anchors: Iterable[Anchor], limit: TimeLimit) -> bool:
    """Whether the search finds a candidate in one of the trees. Raises TookTooLong."""
    return next(candidates(resolved, anchors, time_limit=limit), None) is not None


def _between_groups(request: ExplainedRequest) -> Iterator[tuple[Condition, frozenset[str]]]:
    """Yield the conditions between request groups, each with the ids of the conditions of the request that make it."""
    query = request.request
    if query.group_policy == "isolate":
        condition = Condition(ISOLATE, "each request group with a suffix has a provider of its own")
        yield condition, frozenset([condition.id])
    for named in dict.fromkeys(query.same_subtrees):
        condition = of_subtree(named)
        yield condition, frozenset([condition.id])
    group = query.groups.get("")
    if group is not None and len(group.resources) > 1 and group.traits.required:
        yield TRAITS_TOGETHER, frozenset(of_traits(traits).id for traits in group.traits.required)
