"""Every kind of attack on a world, whichever API it is on."""

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from tests.functional.fuzz.attacks import Attack
from tests.functional.fuzz.baremetal_attacks import BaremetalAttacks
from tests.functional.fuzz.placement_attacks import PlacementAttacks
from tests.functional.fuzz.words import Words
from tests.functional.fuzz.worlds import World

Kinds = dict[str, Callable[[st.DrawFn], Attack]]


def all_kinds(world: World, known: Words, generations: Mapping[str, int]) -> Kinds:
    """Return how to draw each kind of attack, by its name."""
    arguments = (world, known, generations)
    return BaremetalAttacks(*arguments).kinds() | PlacementAttacks(*arguments).kinds()
