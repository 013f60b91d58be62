"""Writes the rows of Placement: providers, and their inventories, traits and aggregates.

A provider of a node gets its inventory and its traits from the node, which is here already; of Placement it keeps the
name, the place in aggregates and the traits of schedulers.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import or_, select, update

from baremetal_sched.baremetal.provider import projection
from baremetal_sched.db.models import Node, NodeTrait
from baremetal_sched.moving.ironic_rows import BEGIN, time_of
from baremetal_sched.moving.names_import import ImportedNames
from baremetal_sched.moving.row_sync import Row, RowSync
from baremetal_sched.moving.run import ImportRun
from baremetal_sched.moving.source_databases import BATCH, SourceRow
from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.inventories import InventoryValues
from baremetal_sched.placement.names import is_scheduler_trait
from baremetal_sched.placement.projected import SingleUnit
from baremetal_sched.placement.provider_parts import INVENTORY_FIELDS
from baremetal_sched.placement.tables import INVENTORIES, PROVIDER_AGGREGATES, PROVIDER_TRAITS, PROVIDERS

#: What a provider has in Placement if there is none: it is made for a node.
_NEW: SourceRow = {"id": None, "generation": 1, "parent_provider_id": None}


@dataclass
class _Batch:
    """The rows of both originals about some providers; lists by Placement's id of the provider, nodes by UUID."""

    stocks: Mapping[Any, list[SourceRow]]
    traits: Mapping[Any, list[int]]
    aggregates: Mapping[Any, list[int]]
    nodes: Mapping[str, Node]
    node_traits: Mapping[str, set[str]]


@dataclass
class Providers:
    """The providers of an import. ``ids`` are the ids here by Placement's, ``of_uuid`` by UUID."""

    run: ImportRun
    names: ImportedNames
    ids: dict[int, int] = field(default_factory=dict)
    of_uuid: dict[str, int] = field(default_factory=dict)
    #: By Placement's id: that of the root, for providers that are not roots.
    roots: dict[int, int] = field(default_factory=dict)

    def write(self) -> None:
        """Make all providers what they should be; providers that are gone stay until ``remove_gone``."""
        listed = [row for row in self.run.placement.all("resource_providers", _LISTED)]
        self._find_ids(listed)
        self._release()
        depth = _depths(listed, self.run.decisions.rooted)
        self.roots = {row["id"]: root for row in listed if (root := depth[row["id"]][1]) != row["id"]}
        for generation in range(max((place for place, _ in depth.values()), default=0) + 1):
            chosen = [row["id"] for row in listed if depth[row["id"]][0] == generation]
            for ids in _portions(chosen):
                self._write(self.run.placement.rows("resource_providers", "id", ids, order=("id",)))
        for nodes in self._nodes_without():
            self._write(nodes)

    def _find_ids(self, listed: Sequence[SourceRow]) -> None:
        """Fill ``ids`` and ``of_uuid``; new providers get the next ids, in Placement's order."""
        query = select(PROVIDERS.c.uuid, PROVIDERS.c.id)
        rows = self.run.fetch(query)
        self.of_uuid = {uuid: row_id for uuid, row_id in rows}
        next_id = max(self.of_uuid.values(), default=0) + 1
        for row in listed:
            if row["uuid"] not in self.of_uuid:
                self.of_uuid[row["uuid"]] = next_id
                next_id += 1
            self.ids[row["id"]] = self.of_uuid[row["uuid"]]

    def _release(self) -> None:
        """Free the names of providers that have another name now, or are gone."""
        names = {
            row["uuid"]: row["name"] for row in self.run.placement.all("resource_providers", ("id", "uuid", "name"))
        }
        query = select(PROVIDERS.c.id, PROVIDERS.c.uuid, PROVIDERS.c.name)
        rows = self.run.fetch(query)
        taken = set(names.values())
        wrong = [row.id for row in rows if row.name != names.get(row.uuid, row.uuid) and row.name in taken]

        def rename(sync: RowSync) -> None:
            for row_id in wrong:
                sync.connection.execute(update(PROVIDERS).where(PROVIDERS.c.id == row_id).values(name=f"~{row_id}"))

        if wrong:
            self.run.write(rename)

    def _nodes_without(self) -> Iterator[list[SourceRow]]:
        """Yield, in portions, providers for nodes that have none in Placement."""
        known = {row["uuid"] for row in self.run.placement.all("resource_providers", ("id", "uuid"))}
        query = select(Node.uuid, Node.created_at).order_by(Node.id)
        found = self.run.fetch(query)
        missing = [row for row in found if row.uuid not in known]
        next_id = max(self.of_uuid.values(), default=0) + 1
        for row in missing:
            if row.uuid not in self.of_uuid:
                self.of_uuid[row.uuid] = next_id
                next_id += 1
        for part in _portions(missing):
            yield [{**_NEW, "uuid": row.uuid, "name": row.uuid, "created_at": row.created_at} for row in part]

    # -- a batch -------------------------------------------------------------------------------------------------------

    def _write(self, sources: Sequence[SourceRow]) -> None:
        batch = self._read(sources)
        ids = [self.of_uuid[row["uuid"]] for row in sources]
        providers, stocks, traits, aggregates = [], [], [], []
        for source in sources:
            own = self._provider(source, batch)
            providers.append(own.row)
            stocks += own.stocks
            traits += [{"provider_id": own.row["id"], "trait_id": each} for each in sorted(own.traits)]
            aggregates += [
                {"provider_id": own.row["id"], "aggregate_id": self.names.aggregates[each]}
                for each in batch.aggregates[source["id"]]
            ]
        of_provider = (
            (INVENTORIES, ("provider_id", "resource_class_id"), stocks, ("used", "withheld")),
            (PROVIDER_TRAITS, ("provider_id", "trait_id"), traits, ()),
            (PROVIDER_AGGREGATES, ("provider_id", "aggregate_id"), aggregates, ()),
        )

        def work(sync: RowSync) -> None:
            within = PROVIDERS.c.id.in_(ids)
            sync.sync(PROVIDERS, ("id",), providers, within, only_grows=("generation",))
            for table, key, rows, derived in of_provider:
                sync.sync(table, key, rows, table.c.provider_id.in_(ids), derived=derived)

        self.run.write(work)
        self.run.progress("resource_providers", len(sources))

    def _read(self, sources: Sequence[SourceRow]) -> _Batch:
        placement, ids = self.run.placement, [row["id"] for row in sources if row["id"] is not None]
        stocks, traits, aggregates = defaultdict(list), defaultdict(list), defaultdict(list)
        for row in placement.rows("inventories", "resource_provider_id", ids):
            stocks[row["resource_provider_id"]].append(row)
        for row in placement.rows("resource_provider_traits", "resource_provider_id", ids):
            traits[row["resource_provider_id"]].append(row["trait_id"])
        for row in placement.rows("resource_provider_aggregates", "resource_provider_id", ids):
            aggregates[row["resource_provider_id"]].append(row["aggregate_id"])
        uuids = [row["uuid"] for row in sources]
        columns = (Node.created_at, Node.updated_at, *projection.COLUMNS)
        query = select(*columns).where(Node.uuid.in_(uuids))
        own_traits = select(Node.uuid, NodeTrait.trait).join(NodeTrait, NodeTrait.node_id == Node.id)
        nodes = {row.uuid: Node(**row._mapping) for row in self.run.fetch(query)}
        node_traits: dict[str, set[str]] = defaultdict(set)
        for uuid, trait in self.run.fetch(own_traits.where(Node.uuid.in_(uuids))):
            node_traits[uuid].add(trait)
        return _Batch(stocks, traits, aggregates, nodes, node_traits)

    def _provider(self, source: SourceRow, batch: _Batch) -> "_ProviderRows":
        node = batch.nodes.get(source["uuid"])
        source_traits = {self.names.traits[each] for each in batch.traits[source["id"]]}
        own_id = self.of_uuid[source["uuid"]]
        if node is None:
            stocks = [self._stock(own_id, row) for row in batch.stocks[source["id"]]]
            marks: Row = {"mirrored_class_id": None, "withheld": False}
            corrected, traits = False, source_traits
        else:
            unit = projection.inventory_of(node)
            stocks = [] if unit is None else [self._unit(own_id, unit, node, batch.stocks[source["id"]])]
            class_id = 0 if unit is None else stocks[0]["resource_class_id"]
            marks = {"mirrored_class_id": class_id, "withheld": unit is None or unit.reserved}
            kept = {each for each in source_traits if is_scheduler_trait(self.names.trait_of[each])}
            traits = kept | {self.names.trait_names[name] for name in batch.node_traits[source["uuid"]]}
            corrected = source["id"] is not None and (
                traits != source_traits
                or _numbers(stocks) != _numbers(self._stock(own_id, row) for row in batch.stocks[source["id"]])
                or source["id"] in self.run.decisions.rooted
            )
        parent, root = source["parent_provider_id"], self.roots.get(source["id"])
        row = {
            "id": own_id,
            "uuid": source["uuid"],
            "name": source["name"],
            "generation": (source["generation"] or 0) + corrected,
            "parent_id": None if root is None else self.ids[parent],
            "root_id": own_id if root is None else self.ids[root],
            "trait_ids": trait_ids.text_of(traits),
            **marks,
            **times_of(source),
        }
        return _ProviderRows(row, stocks, traits)

    def _stock(self, provider_id: int, source: SourceRow) -> Row:
        values = InventoryValues(**{part: source[part] for part in INVENTORY_FIELDS})
        return {
            "provider_id": provider_id,
            "resource_class_id": self.names.classes[source["resource_class_id"]],
            **asdict(values),
            "capacity": values.capacity,
            **_NO_COPIES,
            **times_of(source),
        }

    def _unit(self, provider_id: int, unit: SingleUnit, node: Node, stocks: Sequence[SourceRow]) -> Row:
        class_id = self.names.class_names[unit.resource_class]
        known = next((row for row in stocks if self.names.classes[row["resource_class_id"]] == class_id), None)
        values = InventoryValues(total=1, reserved=int(unit.reserved), max_unit=1)
        times = times_of(known) if known else {"created_at": node.created_at, "updated_at": node.created_at}
        return {
            "provider_id": provider_id,
            "resource_class_id": class_id,
            **asdict(values),
            "capacity": values.capacity,
            **unit.copies._asdict(),
            **times,
        }

    def remove_gone(self) -> None:
        """Delete providers that are neither Placement's nor a node's."""
        query = select(PROVIDERS.c.uuid, PROVIDERS.c.id)
        rows = self.run.fetch(query)
        uuids = {row["uuid"] for row in self.run.placement.all("resource_providers", ("id", "uuid"))}
        uuids |= {uuid for (uuid,) in self.run.fetch(select(Node.uuid))}
        for part in _portions([row.id for row in rows if row.uuid not in uuids]):
            self.run.write(partial(_remove, part))


@dataclass
class _ProviderRows:
    """A provider as it should be here: its row, inventories, and ids of traits."""

    row: Row
    stocks: list[Row]
    traits: set[int]


_LISTED = ("id", "uuid", "parent_provider_id")
_NO_COPIES: Row = {"node_class": None, "node_group": None, "node_state": None}


def times_of(source: SourceRow) -> Row:
    """Return the times of a row of Placement. A row that was never changed has the time of its creation."""
    created = time_of(source.get("created_at")) or BEGIN
    return {
        "created_at": created,
        "updated_at": time_of(source.get("updated_at")) or created,
    }


def _numbers(stocks: Any) -> dict[int, tuple[float, ...]]:
    return {row["resource_class_id"]: tuple(row[part] for part in INVENTORY_FIELDS) for row in stocks}


def _depths(listed: Sequence[SourceRow], rooted: Any) -> dict[int, tuple[int, int]]:
    """Return how many providers are above each, and the root of each, by Placement's ids."""
    parents = {row["id"]: None if row["id"] in rooted else row["parent_provider_id"] for row in listed}
    found: dict[int, tuple[int, int]] = {}
    for start in parents:
        way = [start]
        while way[-1] not in found and (parent := parents[way[-1]]) is not None and parent in parents:
            way.append(parent)
        place, root = found.get(way[-1], (0, way[-1]))
        for step, row_id in enumerate(reversed(way)):
            found[row_id] = (place + step, root)
    return found


def _portions(items: Any) -> Iterator[list[Any]]:
    iterator = iter(items)
    while part := list(islice(iterator, BATCH)):
        yield part


def _remove(ids: Sequence[int], sync: RowSync) -> None:
    """Delete providers: first what refers to them."""
    refers = or_(PROVIDERS.c.parent_id.in_(ids), PROVIDERS.c.root_id.in_(ids))
    sync.connection.execute(
        update(PROVIDERS).where(refers, PROVIDERS.c.id.in_(ids)).values(parent_id=None, root_id=None)
    )
    rows = sync.connection.execute(select(PROVIDERS).where(PROVIDERS.c.id.in_(ids))).mappings().all()
    sync.delete(PROVIDERS, rows)
