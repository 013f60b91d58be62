"""The base of attacks on a world."""

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from tests.functional.fuzz.extremes import encoded, numbers, texts
from tests.functional.fuzz.requests import Request
from tests.functional.fuzz.words import Words, mostly
from tests.functional.fuzz.worlds import World

#: The API and the request.
Attack = tuple[str, Request]

#: Texts, numbers and amounts most of which are accepted.
words = mostly(st.sampled_from(["a", "b" * 255, "192.0.2.7", "\u202eevil", "💥" * 60]), texts)
small = mostly(st.integers(0, 9), numbers)
amounts = mostly(st.just(1), mostly(st.integers(1, 10), numbers))

_KINDS = ("deep_", "many_", "node_", "odd_")


class Attacks:
    """Kinds of attacks on a world, each a method that draws one. ``known`` also has what came into being later,
    ``generations`` those of providers."""

    def __init__(self, world: World, known: Words, generations: Mapping[str, int]) -> None:
        self.node = st.sampled_from(world.nodes)
        self.provider = st.sampled_from([*world.chain, *world.nodes, *world.children[1::2]])
        self.consumer = st.sampled_from(world.consumers)
        self.classes, self.traits, self.aggregates = world.classes, world.traits, world.aggregates
        self.world, self.known, self.generations = world, known, generations

    def kinds(self) -> dict[str, Callable[[st.DrawFn], Attack]]:
        """Return how to draw each kind of attack."""
        return {name: getattr(self, name) for name in vars(type(self)) if name.startswith(_KINDS)}


def baremetal(method: str, path: str, document: Any = None, query: str = "") -> Attack:
    """Return a request to the bare metal API."""
    return "baremetal", Request(method, f"/v1{path}", query, 115, None if document is None else encoded(document))


def placement(method: str, path: str, document: Any = None, query: str = "") -> Attack:
    """Return a request to the Placement API."""
    return "placement", Request(method, path, query, 39, None if document is None else encoded(document))


def slices(names: list[str], count: int) -> st.SearchStrategy[list[str]]:
    """As many of the names as ``count``, side by side."""
    return st.integers(0, max(0, len(names) - count)).map(lambda start: names[start : start + count])
