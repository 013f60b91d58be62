"""The sample fleet, and the expected answers to requests about it, computed with plain sets without the service."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import yaml

from baremetal_sched.baremetal.provider.projection import resource_class_of


@dataclass(frozen=True)
class Machine:
    """A node of the file; ``fields`` as in the file."""

    fields: dict[str, Any]

    @cached_property
    def name(self) -> str:
        return str(self.fields["name"])

    @cached_property
    def group(self) -> str:
        """Return the conductor group."""
        return str(self.fields["conductor_group"])

    @cached_property
    def resource_class(self) -> str:
        return str(self.fields["resource_class"])

    @cached_property
    def maintenance(self) -> str | None:
        """Return the reason for maintenance; None if the node is not in maintenance."""
        reason: str | None = self.fields["extra"].get("maintenance")
        return reason

    @cached_property
    def traits(self) -> frozenset[str]:
        return frozenset(self.fields["extra"]["traits"])


@dataclass(frozen=True)
class Wish:
    """A request to placement: one machine of a class, with conditions on its traits."""

    resource_class: str
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """Return the query string of ``GET /allocation_candidates``."""
        terms = [*self.required, *(f"!{trait}" for trait in self.forbidden)]
        pairs = [("resources", f"{resource_class_of(self.resource_class)}:1")]
        pairs += [("required", ",".join(terms))] if terms else []
        pairs += [("required", "in:" + ",".join(self.any_of))] if self.any_of else []
        return urlencode(pairs, safe=":,!")

    def answer(self, machines: Iterable[Machine]) -> set[str]:
        """Return the names of the machines that placement must offer while none is claimed."""
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
    """Return the sample fleet."""
    text = files(__package__).joinpath("fleet.yaml").read_text(encoding="utf-8")
    return [Machine(fields) for fields in yaml.safe_load(text)["nodes"]]
