"""Dice: random choices among the names, and what they make up."""

import random
from typing import Any

from tests.conformance.differential.calls import Generation
from tests.conformance.differential.world import AGGREGATES, CLASSES, LATEST, PROVIDERS, TRAITS


class Dice:
    """Random choices, determined by ``seed``: mostly of what makes sense.

    ``stocked`` is what each provider probably has: the classes that a call last gave it.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self.stocked: dict[str, list[str]] = {}

    # -- choosing

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def one(self, values: Any) -> Any:
        return self._random.choice(values)

    def some(self, values: Any, least: int = 0, most: int = 3) -> list[Any]:
        return self._random.sample(values, self._random.randint(least, min(most, len(values))))

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def weighted(self, weights: dict[Any, int]) -> Any:
        """One of the keys."""
        return self._random.choices(list(weights), list(weights.values()))[0]

    def shuffle(self, values: list[Any]) -> None:
        self._random.shuffle(values)

    # -- names

    def version(self, since: int = 0) -> int:
        """Mostly one that has the thing, often the latest."""
        if self.chance(0.4):
            return LATEST
        return self.number(0 if self.chance(0.04) else since, LATEST)

    def provider(self) -> str:
        if self.chance(0.03):
            # Providers are found by any spelling of their UUIDs here, and not in the original.
            return str(self.one(["nothing", AGGREGATES[0]]))
        return str(self.one(PROVIDERS))

    def resource_class(self) -> str:
        return str(self.one([*CLASSES, *CLASSES, "PCI_DEVICE", "CUSTOM_NO", "no"] if self.chance(0.1) else CLASSES))

    def resource_classes(self, *numbers: int) -> list[str]:
        """Some, without repetitions, as many as one of ``numbers`` says."""
        return list(dict.fromkeys(self.resource_class() for _ in range(self.one(numbers))))

    def class_of(self, provider: str) -> str:
        """Mostly one that the provider has."""
        stocked = self.stocked.get(provider)
        return str(self.one(stocked)) if stocked and self.chance(0.85) else self.resource_class()

    def trait(self) -> str:
        return str(self.one([*TRAITS, "CUSTOM_NO", "HW_CPU_X86_SVM"]) if self.chance(0.15) else self.one(TRAITS))

    def generation(self, kind: str, uuid: str) -> Generation:
        return Generation(kind, uuid, self.one([-1, 1, 7]) if self.chance(0.06) else 0)

    # -- amounts

    def amount(self) -> int:
        return int(self.one([1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 8, 16, 32]))

    def inventory(self) -> dict[str, Any]:
        body: dict[str, Any] = {"total": self.one([1, 2, 4, 8, 10, 16, 32])}
        for name, values, chance in (
            ("reserved", [0, 1, 2, 4, 10], 0.25),
            ("min_unit", [1, 1, 2, 3], 0.15),
            ("max_unit", [1, 2, 5, 8, 2**31 - 1], 0.25),
            ("step_size", [1, 1, 2, 3], 0.15),
            ("allocation_ratio", [1.0, 1, 2.0, 1.5, 16.0, 0.5, 0.1, 0, -1.0], 0.25),
        ):
            if self.chance(chance):
                body[name] = self.one(values)
        return body

    def inventories(self, provider: str, *numbers: int) -> dict[str, Any]:
        """All that the provider is to have."""
        found = {name: self.inventory() for name in self.resource_classes(*numbers)}
        self.stocked[provider] = list(found)
        return found
