"""Writes the rows of Ironic: nodes, and everything that belongs to them."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Table, and_, select

from baremetal_sched.db.models import (
    BiosSetting,
    Chassis,
    DeployTemplate,
    FirmwareComponent,
    Hold,
    InspectionRule,
    Node,
    NodeAllocation,
    NodeHistory,
    NodeInventory,
    NodeTrait,
    Port,
    Portgroup,
    Runbook,
    RunbookTrait,
    VolumeConnector,
    VolumeTarget,
    table_of,
)
from baremetal_sched.moving.forms import uuid_form
from baremetal_sched.moving.ironic_rows import allocation_row, bios_row, hold_row, node_row, row_of, steps_of
from baremetal_sched.moving.row_sync import Row, RowWriter
from baremetal_sched.moving.run import ImportRun
from baremetal_sched.moving.source_databases import SourceRow

#: Unique columns and references, which are released before anything is written: by table, with its name in Ironic.
#: First what refers to others.
_RELEASED = (
    (Port, "ports", ("address", "name", "portgroup_id", "node_id")),
    (Portgroup, "portgroups", ("address", "name", "node_id")),
    (VolumeConnector, "volume_connectors", ("type", "connector_id")),
    (VolumeTarget, "volume_targets", ("boot_index",)),
    (NodeAllocation, "allocations", ("name", "node_id")),
    (NodeHistory, "node_history", ()),
    (Node, "nodes", ("name", "instance_uuid", "chassis_id")),
    (DeployTemplate, "deploy_templates", ("name",)),
    (Runbook, "runbooks", ("name",)),
    (Chassis, "chassis", ()),
)

#: Lists that are simply copied, by table: the name in Ironic.
_PLAIN = (
    (Portgroup, "portgroups"),
    (Port, "ports"),
    (VolumeConnector, "volume_connectors"),
    (VolumeTarget, "volume_targets"),
    (NodeHistory, "node_history"),
)


def import_nodes(run: ImportRun) -> None:
    """Make everything that Ironic has the same here."""
    for model, name, columns in _RELEASED:
        run.release(table_of(model), name, columns)
    run.mirror(table_of(Chassis), "chassis", lambda source: row_of(table_of(Chassis), source))
    _Nodes(run).write()
    for model, name in _PLAIN:
        run.mirror(table_of(model), name, _of_node(table_of(model)))
    _write_steps(run)
    rules = table_of(InspectionRule)
    run.mirror(rules, "inspection_rules", lambda source: row_of(rules, source))


def _of_node(table: Table) -> Callable[[SourceRow], Row]:
    """Return a function that makes rows of a table with ``node_id``."""
    return lambda source: row_of(table, source, node_id=source["node_id"])


class _Nodes:
    """Nodes and allocations, with names here for the ids that Ironic has."""

    def __init__(self, run: ImportRun) -> None:
        self._run = run
        hosts = run.ironic.table("conductors").c
        self._hosts = {row_id: host for row_id, host in run.ironic.select(select(hosts.id, hosts.hostname))}
        self._allocations = {row["id"]: row["uuid"] for row in run.ironic.all("allocations", ("id", "uuid"))}

    def write(self) -> None:
        self._run.mirror(table_of(Node), "nodes", self._node, self._parts)
        self._run.mirror(table_of(NodeAllocation), "allocations", self._allocation)

    def _node(self, source: SourceRow) -> Row:
        return node_row(
            table_of(Node),
            source,
            self._run.choices,
            chassis_id=source["chassis_id"],
            allocation_uuid=self._allocations.get(source["allocation_id"]),
            conductor_affinity=self._hosts.get(source["conductor_affinity"]),
        )

    def _allocation(self, source: SourceRow) -> Row:
        host = self._hosts.get(source["conductor_affinity"])
        return allocation_row(table_of(NodeAllocation), source, node_id=source["node_id"], conductor_affinity=host)

    def _parts(self, sync: RowWriter, nodes: Sequence[SourceRow]) -> None:
        """Write the rows without ids of their own, which belong to the nodes of a batch."""
        ids = [node["id"] for node in nodes]
        traits, settings, components, inventories = (
            table_of(model) for model in (NodeTrait, BiosSetting, FirmwareComponent, NodeInventory)
        )
        tables: tuple[tuple[Table, str, tuple[str, ...], Callable[[Table, SourceRow], Row]], ...] = (
            (traits, "node_traits", ("node_id", "trait"), _node_part),
            (settings, "bios_settings", ("node_id", "name"), lambda t, row: bios_row(t, row, row["node_id"])),
            (components, "firmware_information", ("node_id", "component"), _node_part),
            (inventories, "node_inventory", ("node_id",), _node_part),
        )
        for table, name, key, make in tables:
            rows = [make(table, source) for source in self._run.ironic.rows(name, "node_id", ids)]
            sync.sync(table, key, rows, and_(table.c.node_id >= ids[0], table.c.node_id <= ids[-1]))
        holds = table_of(Hold)
        rows = [hold_row(node) for node in nodes if node["maintenance"] and uuid_form(node["uuid"] or "")]
        within = and_(holds.c.node_id >= ids[0], holds.c.node_id <= ids[-1])
        sync.sync(holds, ("node_id", "type"), rows, within, derived=("uuid", "asserted_at", "written_at", "begun_at"))


def _node_part(table: Table, source: SourceRow) -> Row:
    return row_of(table, source, node_id=source["node_id"])


def _write_steps(run: ImportRun) -> None:
    templates, runbooks, traits = (table_of(model) for model in (DeployTemplate, Runbook, RunbookTrait))
    of_templates = _grouped(run, "deploy_template_steps", "deploy_template_id")
    run.mirror(
        templates,
        "deploy_templates",
        lambda row: row_of(templates, row, steps=steps_of(of_templates[row["id"]], "priority")),
    )
    of_runbooks = _grouped(run, "runbook_steps", "runbook_id")

    def write_traits(sync: RowWriter, batch: Sequence[SourceRow]) -> None:
        ids = [row["id"] for row in batch]
        # Ironic 35 does not have this table: a runbook applies to nodes with the trait that it is called after.
        runbook_traits: Sequence[Mapping[str, object]] = [
            {"runbook_id": row["id"], "trait": row["name"]} for row in batch
        ]
        if "runbook_traits" in run.ironic.tables:
            runbook_traits = run.ironic.rows("runbook_traits", "runbook_id", ids)
        rows = [{"runbook_id": row["runbook_id"], "trait": row["trait"]} for row in runbook_traits]
        within = and_(traits.c.runbook_id >= ids[0], traits.c.runbook_id <= ids[-1])
        sync.sync(traits, ("runbook_id", "trait"), rows, within)

    run.mirror(
        runbooks,
        "runbooks",
        lambda row: row_of(runbooks, row, steps=steps_of(of_runbooks[row["id"]], "order")),
        write_traits,
    )


def _grouped(run: ImportRun, name: str, key: str) -> Mapping[int, list[SourceRow]]:
    """Return the steps of all templates or runbooks, which are few, by the id of each."""
    found: dict[int, list[SourceRow]] = defaultdict(list)
    for row in run.ironic.all(name):
        found[row[key]].append(row)
    return found
