"""Why a request finds what it finds that several providers of a tree serve together."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlalchemy import ColumnElement, exists, select

from baremetal_sched.baremetal.matching.masks import Bucket, Condition, Kind, Relaxation, Verdict, analyse
from baremetal_sched.baremetal.matching.question import PROJECT, Question, names_of, nodes_source, providers_source
from baremetal_sched.baremetal.matching.reasons import PROVIDER, reason
from baremetal_sched.baremetal.matching.scan import TOO_LITTLE, Scanned, unknown_names
from baremetal_sched.db import deadline
from baremetal_sched.db.models import Node
from baremetal_sched.errors.compute import ExplanationTookTooLong
from baremetal_sched.explain import tree_relaxations, tree_shapes
from baremetal_sched.explain.explanation import COMBINATION, ClosestTree, Context, Explained
from baremetal_sched.explain.tree_looks import Look, closest
from baremetal_sched.explain.tree_parts import Asked, Part
from baremetal_sched.explain.tree_shapes import Tree
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit, TookTooLong

T = TypeVar("T")

#: Machines are counted up to this number, or to how many are wanted if that is more.
MOST_COUNTED = 1000

#: The condition that the providers which serve each part serve all of them together.
TOGETHER = Condition("together", "its providers serve all parts together")

#: Seconds for relaxations, if explanations may take any time.
_SECONDS = 5.0


@dataclass(frozen=True)
class Missed:
    """Trees that do not fit: the closest, and without which conditions how many would (``exact``: these are all).

    ``fits_if_free``: whether one would if everything were free.
    """

    closest: ClosestTree | None
    relaxations: list[Relaxation]
    exact: bool
    fits_if_free: bool


def explain(context: Context, asked: Asked) -> Explained:
    """Explain what the search finds in trees. Raises ExplanationTookTooLong."""
    return _within_time(context, asked, context.tree(), _Explanation.whole)


def missed_trees(context: Context, asked: Asked, roots: ColumnElement[bool]) -> Missed:
    """Return what keeps the trees that meet ``roots``, a condition on ``PROVIDERS.c.root_id``, from fitting.

    Raises ExplanationTookTooLong.
    """
    return _within_time(context, asked, roots, _Explanation.missed)


def _within_time(
    context: Context,
    asked: Asked,
    roots: ColumnElement[bool] | None,
    said: Callable[["_Explanation"], T],
) -> T:
    seconds = _seconds_left(context)
    try:
        return said(_Explanation(context, asked, roots, TimeLimit(seconds), seconds or _SECONDS))
    except TookTooLong:
        raise ExplanationTookTooLong(seconds=f"{context.settings.scheduling.explain_time_limit:.3g}") from None


def _seconds_left(context: Context) -> float | None:
    limits = [context.settings.scheduling.explain_time_limit or None, deadline.remaining()]
    return min((seconds for seconds in limits if seconds is not None), default=None)


class _Explanation:
    """What is found out on the way to an explanation."""

    def __init__(
        self, context: Context, asked: Asked, roots: ColumnElement[bool] | None, limit: TimeLimit, seconds: float
    ) -> None:
        self._context = context
        self._asked = asked
        self._seconds = seconds
        self._limit = limit
        self.parts = asked.parts()
        # A machine that the caller may ask about is examined even if the project cannot use it.
        asker, machine = context.asker, context.machine
        self.is_usable = machine is None or context.session.scalar(
            select(exists().where(Node.uuid == machine, *asker.usable()))
        )
        most = context.settings.scheduling.explain_max_nodes
        self.forest = tree_shapes.load(context.session, asked.wanted, asker, roots, most, limit)
        self.looks = [Look(asked, self.parts, shape, limit) for shape in self.forest.shapes]
        self.named = _named(context)
        self._most = max(context.wanted, MOST_COUNTED)
        fitting, already = tree_relaxations.machines(asked.wanted, self.looks, self._most, limit)
        self.fitting, self._already = (fitting, set(already)) if self.is_usable else (0, set())

    def whole(self) -> Explained:
        """Return the explanation."""
        context, fitting = self._context, self.fitting
        reasons = self._reasons()
        parts = {part.parameter: self._of_part(place, part, reasons) for place, part in enumerate(self.parts)}
        scanned = self._scanned(reasons)
        analysis = analyse(self._conditions(), scanned.masks, context.wanted)
        relaxations, exact = ([], True) if fitting >= context.wanted else self._relaxations()
        return Explained(
            context.wanted,
            fitting,
            self._verdict(fitting, parts),
            replace(analysis, fitting=fitting, relaxations=relaxations, exact=exact),
            scanned,
            unknown_names(context.session, self._question()),
            parts=parts,
            closest=None if fitting else self._closest(),
        )

    def missed(self) -> Missed:
        """Return what keeps the trees that do not fit from it."""
        relaxations, exact = self._relaxations()
        if_free = any(look.fits_if_free for look in self.looks)
        return Missed(self._closest(), relaxations, exact, if_free)

    def _not_fitting(self) -> list[Look]:
        return [look for look in self.looks if not look.fits]

    def _closest(self) -> ClosestTree | None:
        return closest(self.parts, self._not_fitting(), self.named)

    def _question(self) -> Question:
        asker = self._context.asker
        names = names_of(self._asked.request)
        return Question([], providers_source(asker), asker.usable(), names, of_providers=True)

    def _verdict(self, fitting: int, parts: Mapping[str, Explained]) -> str:
        if fitting:
            return Verdict.FITS if fitting >= self._context.wanted else Verdict.SHORT
        if any(part.verdict == Verdict.IMPOSSIBLE for part in parts.values()):
            return Verdict.IMPOSSIBLE
        return Verdict.BUSY if any(look.fits_if_free for look in self.looks) else COMBINATION

    # -- trees ---------------------------------------------------------------------------------------------------------

    def _conditions(self) -> list[Condition]:
        """Conditions on a tree: two of each part, and that it serves them together."""
        found = [] if self.is_usable else [Condition(PROJECT, "may be used by the project", Kind.AVAILABILITY)]
        for part in self.parts:
            name = part.parameter
            found.append(Condition(name, f"has a provider that could serve {name}"))
            free = f"its providers that could serve {name} are free"
            found.append(Condition(f"availability:{name}", free, Kind.AVAILABILITY, name))
        return [*found, TOGETHER]

    def _scanned(self, reasons: Mapping[int, str]) -> Scanned:
        masks: dict[int, Bucket] = {}
        busy: Counter[str] = Counter()
        for look in self.looks:
            self._limit.check()
            mask, trees = self._mask(look), look.shape.trees
            example = next((tree.uuid for tree in trees if self._is_named(tree.uuid)), None)
            before = masks.get(mask, Bucket(0))
            masks[mask] = Bucket(
                before.machines + len(trees), min(filter(None, (before.example, example)), default=None)
            )
            if not look.fits and look.fits_if_free:
                busy.update(reasons.get(tree.root_id, TOO_LITTLE) for tree in trees)
        return Scanned(self.forest.trees, masks, dict(sorted(busy.items())), self.forest.sample)

    def _mask(self, look: Look) -> int:
        """Each tree fails for its own reasons: what a part lacks is not said to be lacking all of them together."""
        bits = [] if self.is_usable else [True]
        for part, masks in zip(self.parts, look.masks, strict=True):
            could = any(not mask & asked_bits(part) for mask in masks)
            bits += [not could, could and 0 not in masks]
        bits.append(look.served == len(self.parts) and not look.fits)
        return sum(bit << place for place, bit in enumerate(bits))

    def _is_named(self, uuid: str) -> bool:
        return self.named is None or uuid in self.named

    def _relaxations(self) -> tuple[list[Relaxation], bool]:
        if not self.is_usable:
            return [], True
        # Some of the time is for what is said besides.
        sets = tree_relaxations.smallest(self._asked, self.parts, self._not_fitting(), self._seconds / 3)
        found = []
        for drop in sets.sets:
            wanted = self._asked.without(drop)
            if wanted is None:
                continue
            would_fit, uuids = tree_relaxations.machines(wanted, self.looks, self._most, self._limit)
            example = next((uuid for uuid in uuids if uuid not in self._already and self._is_named(uuid)), None)
            if would_fit > self.fitting:
                found.append(Relaxation(tuple(sorted(drop)), would_fit, example))
        return sorted(found, key=lambda each: (len(each.drop), -each.would_fit, each.drop)), sets.exact

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _of_part(self, place: int, part: Part, reasons: Mapping[int, str]) -> Explained:
        masks: dict[int, Bucket] = {}
        busy: Counter[str] = Counter()
        shared: dict[int, tuple[int, str]] = {}
        asked = asked_bits(part)

        def add(mask: int, machines: int, example: str | None) -> None:
            before = masks.get(mask, Bucket(0))
            masks[mask] = Bucket(before.machines + machines, min(filter(None, (before.example, example)), default=None))

        for look in self.looks:
            self._limit.check()
            shape = look.shape
            # They are in the order of their UUIDs.
            shown = next((tree for tree in shape.trees if self._is_named(tree.uuid)), None)
            for number, (mask, provider) in enumerate(zip(look.masks[place], shape.providers, strict=True)):
                if provider.shares:
                    # A sharing provider may serve several trees: the one in which it fails least counts.
                    before = shared.get(provider.id)
                    if before is None or mask.bit_count() < before[0].bit_count():
                        shared[provider.id] = (mask, shape.rows[number].uuid)
                    continue
                add(mask, len(shape.trees), None if shown is None else shown.members[number].uuid)
                if mask and not mask & asked:
                    busy.update(self._why(reasons, _id(tree, number), tree.root_id) for tree in shape.trees)
        for row_id, (mask, uuid) in shared.items():
            add(mask, 1, uuid if self.named is None else None)
            if mask and not mask & asked:
                busy[reasons.get(row_id, TOO_LITTLE)] += 1
        wanted, sample = self._context.wanted, self.forest.sample
        looked_at = sum(bucket.machines for bucket in masks.values())
        classes = [each.id for each in part.conditions if each.id in part.classes]
        analysis = analyse(part.conditions, masks, wanted, one_stays=classes)
        nodes = looked_at if sample is None else self.forest.providers
        scanned = Scanned(nodes, masks, dict(sorted(busy.items())), None if sample is None else looked_at)
        return Explained(wanted, analysis.fitting, analysis.verdict, analysis, scanned)

    @staticmethod
    def _why(reasons: Mapping[int, str], row_id: int, root_id: int) -> str:
        """Why the provider is not free: what is below a machine is held back for the machine's reason."""
        return reasons.get(row_id) or reasons.get(root_id, TOO_LITTLE)

    def _reasons(self) -> dict[int, str]:
        """Why nodes are not free, by the id of the provider: SELECT p.id, CASE … END FROM nodes …

        Asked only if something is not free that would fit otherwise.
        """
        if not any(
            mask and not mask & asked_bits(part)
            for look in self.looks
            for part, masks in zip(self.parts, look.masks, strict=True)
            for mask in masks
        ):
            return {}
        why = reason().label("reason")
        inner = select(PROVIDER.c.id, why).select_from(nodes_source())
        inner = inner.where(PROVIDER.c.id.is_not(None), *self._about())
        if self.forest.step > 1:
            inner = inner.where(PROVIDER.c.id % self.forest.step == 0)
        found = inner.subquery()
        rows = self._context.session.execute(select(found).where(found.c.reason.is_not(None)))
        return {row_id: word for row_id, word in rows}

    def _about(self) -> Sequence[ColumnElement[bool]]:
        machine = self._context.machine
        return self._context.asker.usable() if machine is None else (Node.uuid == machine,)


def asked_bits(part: Part) -> int:
    """Return the bits of what is asked for, whether it is free or not."""
    return sum(1 << place for place, condition in enumerate(part.conditions) if condition.kind is Kind.REQUEST)


def _id(tree: Tree, place: int) -> int:
    return int(tree.members[place][0])


def _named(context: Context) -> frozenset[str] | None:
    """The UUIDs of the nodes that may be named; None: everything may."""
    named = context.asker.named
    if named.everything:
        return None
    return frozenset(context.session.scalars(select(Node.uuid).where(*named.conditions())))
