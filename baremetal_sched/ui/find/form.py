"""The request of the form, and the addresses of changed forms: pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from os_resource_classes import STANDARDS
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched import commands
from baremetal_sched.baremetal.matching.spreading import MOST as MOST_AT_ONCE
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.schemas.traits import complaint, is_trait
from baremetal_sched.compute.flavors import flavors
from baremetal_sched.db.models import Flavor, Image
from baremetal_sched.errors import InvalidValue
from baremetal_sched.image import access
from baremetal_sched.image.access import EVERYTHING, ImageRequester
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.query_values import TraitConditions


def pairs_of(request: CandidateRequest) -> list[tuple[str, str]]:
    """Return the parameters of ``GET /allocation_candidates`` at microversion 1.39 that ask for ``request``."""
    found = [pair for group in request.groups.values() for pair in _of_group(group)]
    if request.limit is not None:
        found.append(("limit", str(request.limit)))
    if request.group_policy is not None:
        found.append(("group_policy", request.group_policy))
    found += [("root_required", text) for text in _traits_text(request.root_required)]
    return found + [("same_subtree", ",".join(sorted(suffixes))) for suffixes in request.same_subtrees]


def _of_group(group: RequestGroup) -> Iterator[tuple[str, str]]:
    suffix = group.suffix
    if group.resources:
        yield f"resources{suffix}", ",".join(f"{name}:{amount}" for name, amount in group.resources.items())
    for text in _traits_text(group.traits):
        yield f"required{suffix}", text
    for members in group.aggregates.member_of:
        yield f"member_of{suffix}", f"in:{','.join(sorted(members))}"
    if group.aggregates.forbidden:
        yield f"member_of{suffix}", f"!in:{','.join(sorted(group.aggregates.forbidden))}"
    if group.in_tree is not None:
        yield f"in_tree{suffix}", group.in_tree


def _traits_text(conditions: TraitConditions) -> Iterator[str]:
    alone = [name for names in conditions.required if len(names) == 1 for name in names]
    alone += [f"!{name}" for name in sorted(conditions.forbidden)]
    if alone:
        yield ",".join(alone)
    for names in conditions.required:
        if len(names) > 1:
            yield f"in:{','.join(sorted(names))}"


def renamed(request: CandidateRequest, name: str, instead: str) -> CandidateRequest:
    """Return the request with another class or trait in place of that called ``name``."""

    def call(each: str) -> str:
        return instead if each == name else each

    groups = {
        suffix: replace(
            group,
            resources={call(each): amount for each, amount in group.resources.items()},
            traits=_called(group.traits, call),
        )
        for suffix, group in request.groups.items()
    }
    return replace(request, groups=groups, root_required=_called(request.root_required, call))


def _called(conditions: TraitConditions, call: Callable[[str], str]) -> TraitConditions:
    return TraitConditions(
        [frozenset(map(call, names)) for names in conditions.required], {call(name) for name in conditions.forbidden}
    )


#: The controls that say where several machines are taken.
_WHERE = ("spread", "at_most", "pack")

#: The controls of the form, which are the parameters of its address. ``any`` may be there several times.
PARAMETERS = ("class", "amount", "required", "forbidden", "any", "query", "flavor", "image", "wanted", *_WHERE)

_Body = dict[str, Any]
_LARGEST = 2**31 - 1
_MOST_WANTED = 1_000_000


@dataclass(frozen=True)
class FindForm:
    """A request: by class and traits, by a ``query`` of allocation candidates, or by ``flavor`` and ``image``.

    ``resource_class`` is as placement has it. A machine needs all traits that are ``required``, none that is
    ``forbidden``, and one of each list of ``any_of``. ``needed``: how many machines,
    at most ``at_most`` in each domain of the level ``spread``, all in one domain of the level ``pack``.
    """

    resource_class: str = ""
    amount: int = 1
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    any_of: tuple[tuple[str, ...], ...] = ()
    query: str = ""
    flavor: str = ""
    image: str = ""
    needed: int = 1
    spread: str = ""
    at_most: int = 1
    pack: str = ""

    def body(self) -> _Body:
        """Return what ``POST /v1/explanations`` of the scheduling API takes for it."""
        return self._request() | (self._several() if self.spread or self.pack else {"wanted": self.needed})

    def claim(self) -> _Body | None:
        """Return what ``POST /v1/claims`` takes for it; None if these are too many for one claim."""
        if self.needed > MOST_AT_ONCE:
            return None
        return self._request() | (self._several() if self.needed > 1 or self.spread or self.pack else {})

    def command(self) -> str:
        """Return the command that claims it; empty if it is a flavor, or too many for one claim."""
        body = self.claim()
        if body is None or self.flavor:
            return ""
        names = {"query": body["query"], "count": str(self.needed), "pack": self.pack}
        kind = " and ".join(name for name in ("spread", "pack") if name in body)
        command = commands.CLAIM_SEVERAL[kind] if "count" in body else commands.CLAIM
        return command.of(spread=f"{self.spread}:{self.at_most}", **names)

    def words(self, flavors: Mapping[str, str], images: Mapping[str, str]) -> str:
        """Return the request as people say it. ``flavors``, ``images``: names by id, as far as they are known."""
        parts = ["1 machine" if self.needed == 1 else f"{self.needed} machines"]
        if self.flavor:
            parts[0] += f" for the flavor {flavors.get(self.flavor, self.flavor)}"
            parts += [f"with the image {images.get(self.image, self.image)}"] if self.image else []
        elif self.query:
            parts[0] += f" for the query {self.query}"
        else:
            parts[0] += f" of the class {self.resource_class}"
            parts += [f"{self.amount} units each"] if self.amount > 1 else []
            parts += [f"with {' and '.join(self.required)}"] if self.required else []
            parts += [f"with {' or '.join(names)}" for names in self.any_of]
            parts += [f"without {' and '.join(self.forbidden)}"] if self.forbidden else []
        parts += [f"at most {self.at_most} in each {self.spread}"] if self.spread else []
        parts += [f"all in the same {self.pack}"] if self.pack else []
        return ", ".join(parts)

    def _several(self) -> _Body:
        at_most = self.at_most if self.spread else None
        return Several(self.needed, self.spread or None, at_most, self.pack or None).document()

    def _request(self) -> _Body:
        if self.flavor:
            return {"flavor": self.flavor} | ({"image": self.image} if self.image else {})
        return {"query": self.query or urlencode(self._pairs())}

    def _pairs(self) -> list[tuple[str, str]]:
        traits = [*self.required, *(f"!{name}" for name in self.forbidden)]
        pairs = [("resources", f"{self.resource_class}:{self.amount}")]
        pairs += [("required", ",".join(traits))] if traits else []
        return pairs + [("required", f"in:{','.join(names)}") for names in self.any_of]

    def changed(self, request: CandidateRequest) -> "FindForm":
        """Return the form that asks for ``request`` instead; by class and traits if this one does and it can be."""
        simple = None if self.query or self.flavor else _simple(request)
        form = simple or FindForm(query=urlencode(pairs_of(request)))
        return replace(form, needed=self.needed, spread=self.spread, at_most=self.at_most, pack=self.pack)

    def parameters(self) -> _Body:
        """Return the parameters of the form's address."""
        numbers = {"wanted": self.needed, "at_most": self.at_most}
        several = {name: number for name, number in numbers.items() if number > 1} | {
            name: level for name, level in (("spread", self.spread), ("pack", self.pack)) if level
        }
        if self.flavor:
            return {"flavor": self.flavor, "image": self.image} | several
        if self.query:
            return {"query": self.query} | several
        parameters = {
            "class": self.resource_class,
            "amount": "" if self.amount == 1 else self.amount,
            "required": ",".join(self.required),
            "forbidden": ",".join(self.forbidden),
            "any": [",".join(names) for names in self.any_of],
        }
        return parameters | several


def read(pairs: Iterable[tuple[str, str]]) -> FindForm | None:
    """Return what was submitted; None if all controls were left empty. Raises InvalidValue."""
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        if value.strip():
            values.setdefault(name, []).append(value.strip())
    if not values:
        return None
    several = sorted(name for name, texts in values.items() if name != "any" and len(set(texts)) > 1)
    if several:
        raise InvalidValue(message=f"Expected one value for {several[0]}: {', '.join(values[several[0]])}")
    _check_kind(values)
    firsts = {name: texts[0] for name, texts in values.items()}
    most = MOST_AT_ONCE if firsts.keys() & set(_WHERE) else _MOST_WANTED
    return FindForm(
        _class(firsts.get("class", "")),
        _number("the amount", firsts.get("amount"), _LARGEST),
        _traits("required", firsts.get("required", "")),
        _traits("forbidden", firsts.get("forbidden", "")),
        tuple(_traits("any", each) for each in dict.fromkeys(values.get("any", ()))),
        firsts.get("query", "").removeprefix("?"),
        firsts.get("flavor", ""),
        firsts.get("image", ""),
        _number("the number of machines", firsts.get("wanted"), most),
        firsts.get("spread", ""),
        _number("the machines in each domain", firsts.get("at_most"), MOST_AT_ONCE),
        firsts.get("pack", ""),
    )


def _check_kind(values: dict[str, list[str]]) -> None:
    kinds = {"class": "a resource class", "query": "a query", "flavor": "a flavor"}
    filled = [kinds[name] for name in kinds if name in values]
    if len(filled) > 1:
        raise InvalidValue(
            message=f"Fill in {' or '.join(filled)}, and leave the other empty: a request has one of them."
        )
    if not filled:
        raise InvalidValue(message="Fill in a resource class, a query or a flavor.")
    belongs = {"class": ("amount", "required", "forbidden", "any"), "query": (), "flavor": ("image",)}
    (kind,) = [name for name in kinds if name in values]
    others = [name for name in values if name not in (kind, "wanted", *_WHERE, *belongs[kind])]
    if "at_most" in values and "spread" not in values:
        raise InvalidValue(message="Choose the level of the domains in which there are at most so many, such as rack.")
    if others:
        raise InvalidValue(message=f"{', '.join(others)} cannot be combined with {filled[0]}: leave it empty.")


def _class(name: str) -> str:
    """The class as placement has it, by its name there or by that of a node's class."""
    return name if not name or name in STANDARDS or name.startswith("CUSTOM_") else resource_class_of(name)


def _number(what: str, text: str | None, most: int) -> int:
    if text is None:
        return 1
    if text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and 1 <= int(text) <= most:
        return int(text)
    raise InvalidValue(message=f"Expected an integer from 1 to {most} for {what}: {text}")


def _traits(name: str, text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.replace(",", " ").split()))
    for trait in names:
        if not is_trait(trait):
            raise InvalidValue(message=f"Invalid {name}: {complaint(trait)}")
    return names


def _simple(request: CandidateRequest) -> FindForm | None:
    """The request as a class and traits; None if it has more."""
    others = (request.group_policy, request.same_subtrees, request.root_required.names())
    group = request.groups.get("")
    if any(others) or group is None or len(request.groups) > 1 or len(group.resources) != 1:
        return None
    if group.in_tree or group.aggregates.member_of or group.aggregates.forbidden:
        return None
    ((resource_class, amount),) = group.resources.items()
    return FindForm(
        resource_class,
        amount,
        tuple(name for names in group.traits.required if len(names) == 1 for name in names),
        tuple(sorted(group.traits.forbidden)),
        tuple(tuple(sorted(names)) for names in group.traits.required if len(names) > 1),
    )


#: The number of flavors and of images that are offered; others are found by their ids.
MOST = 100


def flavors_seen(session: Session, project: str | None) -> list[tuple[str, str]]:
    """Return ids and names of flavors that the project sees, sorted by name; None: of all."""
    query = select(Flavor.flavorid, Flavor.name).where(flavors.visible_to(project)).order_by(Flavor.name).limit(MOST)
    return [(flavorid, name) for flavorid, name in session.execute(query)]


def images_seen(session: Session, project: str | None) -> list[tuple[str, str]]:
    """Return UUIDs and names of images that the project sees, sorted by name; None: of all."""
    requester = EVERYTHING if project is None else ImageRequester(project)
    query = select(Image.uuid, Image.name).where(access.visible(requester)).order_by(Image.name, Image.id).limit(MOST)
    return [(uuid, name or uuid) for uuid, name in session.execute(query)]
