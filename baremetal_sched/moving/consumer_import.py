"""Writes claims: Placement's consumers with their allocations, and the claims of Ironic's allocations."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select, text, update

from baremetal_sched.baremetal.allocations.placing import ACTIVE, CONSUMER_TYPE
from baremetal_sched.db.models import Node, NodeAllocation
from baremetal_sched.db.models.base import Base
from baremetal_sched.moving.provider_import import Providers, times_of
from baremetal_sched.moving.row_sync import Row, RowSync
from baremetal_sched.moving.run import ImportRun
from baremetal_sched.moving.source_databases import BATCH, SourceRow
from baremetal_sched.placement import indivisible, usages
from baremetal_sched.placement.tables import ALLOCATIONS, CONSUMERS, INVENTORIES, PROVIDERS

#: The key of allocations: a consumer may have several.
_KEY = ("consumer_id", "provider_id", "resource_class_id")


@dataclass
class ConsumerImport:
    """The consumers of an import."""

    run: ImportRun
    providers: Providers
    _seen: set[str] = field(default_factory=set)

    def write(self) -> None:
        """Make all claims what they should be, and delete claims that are gone."""
        placement = self.run.placement
        owners = (placement.table("projects").c, placement.table("users").c)
        projects, users = (
            {row_id: name for row_id, name in placement.select(select(c.id, c.external_id))} for c in owners
        )
        types = placement.table("consumer_types").c
        names = {row_id: name for row_id, name in placement.select(select(types.id, types.name))}
        for batch in placement.batches("consumers"):
            claims = self._claims(batch)
            rows = [
                {
                    "uuid": source["uuid"],
                    "project_id": projects[source["project_id"]],
                    "user_id": users[source["user_id"]],
                    "consumer_type": names.get(source["consumer_type_id"]),
                    "generation": source["generation"],
                    **times_of(source),
                }
                for source in batch
                if claims[source["uuid"]]
            ]
            self._write(rows, claims)
        self._write_allocations_of_ironic()
        self._remove_gone()

    def _claims(self, batch: Sequence[SourceRow]) -> Mapping[str, dict[tuple[int, int], Row]]:
        """Return the allocations to take, by consumer, then by our ids of provider and class."""
        claims: Mapping[str, dict[tuple[int, int], Row]] = defaultdict(dict)
        decisions, classes = self.run.decisions, self._mirrored()
        rows = self.run.placement.rows("allocations", "consumer_id", [row["uuid"] for row in batch], order=("id",))
        for row in rows:
            provider, consumer = row["resource_provider_id"], row["consumer_id"]
            root = self.providers.roots.get(provider, provider)
            if row["id"] in decisions.orphans or (consumer, root) in decisions.evicted:
                continue
            class_id = self.providers.names.classes[row["resource_class_id"]]
            used = row["used"]
            if provider in decisions.collapsed:
                class_id, used = classes[self.providers.ids[provider]], 1
            own = self.providers.ids[provider]
            claims[consumer][own, class_id] = {
                "provider_id": own,
                "resource_class_id": class_id,
                "used": used,
                "created_at": times_of(row)["created_at"],
            }
        return claims

    def _mirrored(self) -> Mapping[int, int]:
        """Return the classes of providers whose claims are collapsed, by our ids."""
        ids = [self.providers.ids[each] for each in self.run.decisions.collapsed]
        if not ids:
            return {}
        query = select(PROVIDERS.c.id, PROVIDERS.c.mirrored_class_id).where(PROVIDERS.c.id.in_(ids))
        rows = self.run.fetch(query)
        return {row_id: class_id for row_id, class_id in rows}

    def _write(self, rows: Sequence[Row], claims: Mapping[str, Mapping[Any, Row]]) -> None:
        uuids = [row["uuid"] for row in rows]
        self._seen.update(uuids)

        def work(sync: RowSync) -> None:
            ids = sync.sync(CONSUMERS, ("uuid",), rows, CONSUMERS.c.uuid.in_(uuids), only_grows=("generation",))
            allocations = [{"consumer_id": ids[uuid,], **claim} for uuid in uuids for claim in claims[uuid].values()]
            sync.sync(ALLOCATIONS, _KEY, allocations, ALLOCATIONS.c.consumer_id.in_(list(ids.values())))
            usages.keep(sync.connection, [*ids.values()])

        self.run.write(work)
        self.run.progress("consumers", len(rows))

    def _write_allocations_of_ironic(self) -> None:
        """Claim the nodes of Ironic's allocations, which make no consumers in Placement."""
        settings, fallback = self.run.settings.placement, self.run.settings.placement.incomplete_consumer_project_id
        query = (
            select(
                NodeAllocation.uuid,
                NodeAllocation.owner,
                NodeAllocation.created_at,
                PROVIDERS.c.id,
                PROVIDERS.c.mirrored_class_id,
            )
            .join(Node, Node.id == NodeAllocation.node_id)
            .join(PROVIDERS, PROVIDERS.c.uuid == Node.uuid)
            .where(NodeAllocation.state == ACTIVE, PROVIDERS.c.mirrored_class_id != 0)
            .order_by(NodeAllocation.id)
        )
        allocations = self.run.fetch(query)
        allocations = [row for row in allocations if row.uuid not in self._seen]
        for start in range(0, len(allocations), BATCH):
            rows, claims = [], {}
            for uuid, owner, created_at, provider_id, class_id in allocations[start : start + BATCH]:
                rows.append(
                    {
                        "uuid": uuid,
                        "project_id": owner or fallback,
                        "user_id": settings.incomplete_consumer_user_id,
                        "consumer_type": CONSUMER_TYPE,
                        "generation": 1,
                        "created_at": created_at,
                        "updated_at": created_at,
                    }
                )
                claim = {"provider_id": provider_id, "resource_class_id": class_id, "used": 1, "created_at": created_at}
                claims[uuid] = {provider_id: claim}
            self._write(rows, claims)

    def _remove_gone(self) -> None:
        query = select(CONSUMERS.c.uuid, CONSUMERS.c.id)
        found = self.run.fetch(query)
        gone = [row.id for row in found if row.uuid not in self._seen]
        for start in range(0, len(gone), BATCH):
            ids = gone[start : start + BATCH]

            def work(sync: RowSync, ids: Sequence[int] = ids) -> None:
                sync.sync(ALLOCATIONS, _KEY, [], ALLOCATIONS.c.consumer_id.in_(ids))
                sync.sync(CONSUMERS, ("id",), [], CONSUMERS.c.id.in_(ids))

            self.run.write(work)


def derive(sync: RowSync) -> None:
    """Write what follows from the rows: used amounts, and the marks of trees of nodes."""
    # UPDATE inventories SET used = (the sum of the allocations) WHERE used <> (that sum)
    total = func.coalesce(
        select(func.sum(ALLOCATIONS.c.used))
        .where(
            ALLOCATIONS.c.provider_id == INVENTORIES.c.provider_id,
            ALLOCATIONS.c.resource_class_id == INVENTORIES.c.resource_class_id,
        )
        .scalar_subquery(),
        0,
    )
    changed = sync.connection.execute(update(INVENTORIES).where(INVENTORIES.c.used != total).values(used=total))
    if changed.rowcount:
        sync.written["inventories"] += changed.rowcount
    children = PROVIDERS.alias("children")
    has_children = select(children.c.id).where(children.c.parent_id == PROVIDERS.c.id).exists()
    trees = select(PROVIDERS.c.id).where(
        PROVIDERS.c.root_id == PROVIDERS.c.id,
        PROVIDERS.c.mirrored_class_id.is_not(None),
        has_children | PROVIDERS.c.indivisible,
    )
    for root_id in sync.connection.scalars(trees.order_by(PROVIDERS.c.id)).all():
        _set_holder(sync.connection, root_id)
        indivisible.settle(sync.connection, root_id)


def _set_holder(connection: Connection, root_id: int) -> None:
    """Note the consumer of a tree of a node; ``settle`` would touch the consumer, too."""
    consumers = indivisible.consumers_in(connection, root_id)
    holder = consumers[0] if consumers else None
    differs = PROVIDERS.c.holder.is_distinct_from(holder)
    connection.execute(update(PROVIDERS).where(PROVIDERS.c.id == root_id, differs).values(holder=holder))


def set_sequences(sync: RowSync) -> None:
    """Let PostgreSQL continue after the ids that were written; the other databases do that by themselves."""
    if sync.connection.dialect.name != "postgresql":
        return
    for table in Base.metadata.sorted_tables:
        if "id" in table.c and table.c.id.autoincrement and table.name != "schema_state":
            sync.connection.execute(
                text(
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "
                    f"(SELECT max(id) FROM {table.name})) WHERE EXISTS (SELECT 1 FROM {table.name})"
                )
            )
