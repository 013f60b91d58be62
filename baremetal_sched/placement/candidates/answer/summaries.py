"""What ``GET /allocation_candidates`` tells about the providers of its candidates."""

from collections.abc import Iterable, Mapping, Sequence

import orjson
from sqlalchemy import Column, Connection

from baremetal_sched.db.models import ResourceClass, Trait
from baremetal_sched.documents.json_template import Template, part, value
from baremetal_sched.placement import name_memory, trait_ids
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.request.resolve import TREES_SINCE
from baremetal_sched.placement.candidates.sql import provider_rows
from baremetal_sched.placement.candidates.sql.provider_rows import ByText
from baremetal_sched.placement.candidates.trees.providers import ProviderRow
from baremetal_sched.placement.names import names_of_classes, names_of_traits

TRAITS_SINCE = 17
ALL_CLASSES_SINCE = 27


class Summaries:
    """What the answer tells about providers, gathered batch by batch.

    Thousands of summaries are mostly made of the same few texts, so they are written as text: at once, while the
    database looks for others, if this process remembers all names of classes and traits; otherwise in the end.
    """

    def __init__(self, connection: Connection, request: CandidateRequest, version: int) -> None:
        self._connection = connection
        self._version = version
        self._rows: list[ProviderRow] = []
        self._members: list[str] = []
        self._unnamed: list[Sequence[ProviderRow]] = []
        requested = {name for group in request.groups.values() for name in group.resources}
        # An object of its own: what refers to itself stays in memory until the garbage collector runs.
        self._parts = _Parts(connection, requested, version)
        self._resources = ByText(self._parts.resources)
        self._traits = ByText(self._parts.traits)
        self._member = _member(version)

    def load(self, column: Column[int], ids: Iterable[int]) -> None:
        """Add the providers whose ``column`` (``PROVIDERS.c.id`` or ``root_id``) is one of ``ids``."""
        self.add(provider_rows.load_those(self._connection, column, ids, traits=self._version >= TRAITS_SINCE))

    def add(self, providers: Sequence[ProviderRow]) -> None:
        """Add providers, and with each its tree, if the answer tells of trees. There is no statement."""
        self._rows += providers
        try:
            self._members += self._written(providers)
        except KeyError:
            self._unnamed.append(providers)

    def uuids(self) -> list[str]:
        """Return the UUIDs of all providers, in the order in which they were added."""
        return [row.uuid for row in self._rows]

    def uuids_of(self, ids: set[int]) -> dict[int, str]:
        """Return the UUIDs of the providers with these ids, by id."""
        return {row.id: row.uuid for row in self._rows if row.id in ids} if ids else {}

    def document(self) -> orjson.Fragment:
        """Return the summaries by UUID. It takes two statements at most, for names."""
        if self._unnamed:
            self._parts.look_up(self._connection, [row for providers in self._unnamed for row in providers])
            for providers in self._unnamed:
                self._members += self._written(providers)
        return orjson.Fragment(f"{{{','.join(self._members)}}}")

    def _written(self, providers: Sequence[ProviderRow]) -> list[str]:
        """Members of the document. Raises KeyError for a name that has to be looked up."""
        fill, resources, traits = self._member.fill, self._resources, self._traits
        uuids: dict[int | None, str] = {row.id: f'"{row.uuid}"' for row in providers}
        return [
            fill(uuid, resources[stock], traits[trait_ids], uuids.get(parent, "null"), uuids.get(root, "null"))
            for _, uuid, parent, root, stock, trait_ids in providers
        ]


def _member(version: int) -> Template:
    """UUID, resources, traits, UUID of the parent, UUID of the root, as far as the version shows them."""
    summary = {"resources": value(1)}
    if version >= TRAITS_SINCE:
        summary["traits"] = value(2)
    if version >= TREES_SINCE:
        summary |= {"parent_provider_uuid": value(3), "root_provider_uuid": value(4)}
    return Template({part(0): summary}, braces=False)


class _Parts:
    """JSON of what is in a row. Raises KeyError for names that this process does not remember, until ``look_up``."""

    def __init__(self, connection: Connection, requested: set[str], version: int) -> None:
        self._requested = requested
        self._version = version
        names = name_memory.of(connection).names
        self._classes: Mapping[int, str] = names[ResourceClass]
        self._names: Mapping[int, str] = names[Trait]
        self._looked_up = False

    def resources(self, stock: str) -> str:
        """What a provider has. A class without a name is one that was deleted."""
        found = {}
        for class_id, capacity, used, *_ in provider_rows.inventories(stock):
            name = self._classes.get(class_id) if self._looked_up else self._classes[class_id]
            if name and (self._version >= ALL_CLASSES_SINCE or name in self._requested):
                found[name] = {"capacity": capacity, "used": used}
        return orjson.dumps(found).decode()

    def traits(self, text: str) -> str:
        """A set of traits, in the order of their ids, as the original has them."""
        names = self._names
        if self._looked_up:
            return orjson.dumps([names[row_id] for row_id in trait_ids.ids_in(text) if row_id in names]).decode()
        return orjson.dumps([names[row_id] for row_id in trait_ids.ids_in(text)]).decode()

    def look_up(self, connection: Connection, providers: Sequence[ProviderRow]) -> None:
        """Learn all names that these providers need and that there are."""
        stocks, traits = {row.stock for row in providers}, {row.traits for row in providers}
        classes = {class_id for stock in stocks for class_id, *_ in provider_rows.inventories(stock)}
        self._classes = names_of_classes(connection, classes)
        if self._version >= TRAITS_SINCE:
            ids = {row_id for text in traits for row_id in trait_ids.ids_in(text)}
            self._names = names_of_traits(connection, ids)
        self._looked_up = True
