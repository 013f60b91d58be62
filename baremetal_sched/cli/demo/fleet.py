"""The sample fleet, and what a question about it has to answer: plain sets, worked out without the service."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import yaml

from baremetal_sched.baremetal.projection import resource_class_of


@dataclass(frozen=True)
class Machine:
    """One node of the file; ``fields`` as they stand there."""

    fields: dict[str, Any]

    @cached_property
    def name(self) -> str:
        return str(self.fields["name"])

    @cached_property
    def group(self) -> str:
        """Its conductor group."""
        return str(self.fields["conductor_group"])

    @cached_property
    def resource_class(self) -> str:
        return str(self.fields["resource_class"])

    @cached_property
    def maintenance(self) -> str | None:
        """Why it is in maintenance, None if it is not."""
        reason: str | None = self.fields["extra"].get("maintenance")
        return reason

    @cached_property
    def traits(self) -> frozenset[str]:
        return frozenset(self.fields["extra"]["traits"])


@dataclass(frozen=True)
class Wish:
    """What somebody wants from placement: one machine of a class, with conditions on its traits."""

    resource_class: str
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """The query string of ``GET /allocation_candidates``."""
        terms = [*self.required, *(f"!{trait}" for trait in self.forbidden)]
        pairs = [("resources", f"{resource_class_of(self.resource_class)}:1")]
        pairs += [("required", ",".join(terms))] if terms else []
        pairs += [("required", "in:" + ",".join(self.any_of))] if self.any_of else []
        return urlencode(pairs, safe=":,!")

    def answer(self, machines: Iterable[Machine]) -> set[str]:
        """Names of the machines that placement has to offer while nobody has claimed any."""
        return {
            machine.name
            for machine in machines
            if machine.resource_class == self.resource_class
            and not machine.maintenance
            and machine.traits.issuperset(self.required)
            and machine.traits.isdisjoint(self.forbidden)
            and (not self.any_of or not machine.traits.isdisjoint(self.any_of))
        }


def load() -> list[Machine]:
    """The fleet that comes with the package."""
    text = files(__package__).joinpath("fleet.yaml").read_text(encoding="utf-8")
    return [Machine(fields) for fields in yaml.safe_load(text)["nodes"]]
