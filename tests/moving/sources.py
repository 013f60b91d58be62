"""Databases like those of the originals, made by hand in SQLite: their columns are in ``schemas``, rows are few.

``test_against_originals`` compares ``schemas`` with what the originals make, and imports what they have written.
"""

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.moving import moving_nodes
from tests.moving.moving_nodes import class_of, instance_of, name_of, traits_of

NOW = datetime(2026, 5, 1, 12, 0, 0)
_SCHEMAS = Path(__file__).with_name("schemas")
_PLAIN = (int, float, str, type(None))
#: Versions of rows in both releases, and the ones that differ.
_VERSIONS = {
    "allocations": "1.3",
    "bios_settings": "1.2",
    "chassis": "1.4",
    "deploy_templates": "1.2",
    "inspection_rules": "1.1",
    "node_inventory": "1.1",
    "nodes": "1.44",
    "portgroups": "1.9",
    "ports": "1.16",
    "volume_connectors": "1.1",
    "volume_targets": "1.1",
}
_OF_RELEASE = {
    "ironic-35": {"runbooks": "1.1", "node_history": "1.1", "firmware_information": "1.1"},
    "ironic-39": {"runbooks": "1.2", "node_history": "1.3", "firmware_information": "1.2"},
}


def columns(schema: str) -> dict[str, list[str]]:
    """The tables of a schema: name, type and ``!`` (it must not be NULL) of each column."""
    lines = (_SCHEMAS / f"{schema}.txt").read_text().splitlines()
    return {name: text.split(", ") for name, _, text in (line.partition(": ") for line in lines) if name != "head"}


def head(schema: str) -> str:
    """The head of a schema."""
    return (_SCHEMAS / f"{schema}.txt").read_text().rpartition("head: ")[2].strip()


class HandMade:
    """One database, with rows that have what they must have."""

    def __init__(self, path: Path, schema: str) -> None:
        self.path, self.schema = path, schema
        self.versions = _VERSIONS | _OF_RELEASE.get(schema, {})
        self._columns = columns(schema)
        with closing(sqlite3.connect(path)) as connection, connection:
            for name, found in self._columns.items():
                parts = [self._definition(*column.split(" ")) for column in found]
                connection.execute(f'CREATE TABLE "{name}" ({", ".join(parts)})')
            connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
            connection.execute("INSERT INTO alembic_version VALUES (?)", (head(schema),))

    @staticmethod
    def _definition(name: str, kind: str) -> str:
        return f'"{name}" INTEGER PRIMARY KEY' if name == "id" else f'"{name}" {kind.removesuffix("!")}'

    @property
    def url(self) -> str:
        """Its URL."""
        return f"sqlite:///{self.path}"

    def add(self, table: str, **values: Any) -> int:
        """Add a row; return its id. Objects are written as JSON."""
        known = {column.split(" ")[0] for column in self._columns[table]}
        given = {"created_at": NOW, **({"version": self.versions[table]} if table in self.versions else {}), **values}
        given = {name: _stored(value) for name, value in given.items() if name in known}
        names, marks = ", ".join(f'"{name}"' for name in given), ", ".join("?" * len(given))
        return self.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', *given.values())

    def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; return the id of the row that it added."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(statement, values).lastrowid or 0


def _stored(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value if isinstance(value, _PLAIN) else json.dumps(value)


class Cloud:
    """An Ironic and a Placement that agree on their nodes."""

    def __init__(self, folder: Path, ironic: str = "ironic-39") -> None:
        self.ironic = HandMade(folder / "ironic.sqlite", ironic)
        self.placement = HandMade(folder / "placement.sqlite", "placement-16")
        for table in ("projects", "users"):
            self.placement.add(table, external_id=f"{table}-1")
        self.placement.add("consumer_types", name="INSTANCE")
        self._ids: dict[str, int] = {}

    def node(self, number: int, **changes: Any) -> str:
        """Add a node with its provider and, if it has an instance, the claim; return its UUID."""
        values = moving_nodes.node_values(number) | {"conductor_group": "", "maintenance": False} | changes
        node_id = self.ironic.add("nodes", **{"protected": False, "updated_at": NOW, **values})
        for trait in traits_of(number):
            self.ironic.add("node_traits", node_id=node_id, trait=trait)
        provider = self.provider(values["uuid"], values["uuid"])
        own = "CUSTOM_" + values["resource_class"].upper().replace(".", "_")
        self.inventory(provider, own)
        for trait in (*traits_of(number), "COMPUTE_NODE"):
            trait_id = self.named("traits", trait)
            self.placement.add("resource_provider_traits", resource_provider_id=provider, trait_id=trait_id)
        if values.get("instance_uuid"):
            self.claim(values["instance_uuid"], provider, own)
        return str(values["uuid"])

    def provider(self, uuid: str, name: str, parent: int | None = None, root: int | None = None) -> int:
        """Add a provider; return its id."""
        row_id = self.placement.add(
            "resource_providers", uuid=uuid, name=name, generation=3, parent_provider_id=parent, root_provider_id=root
        )
        if root is None:
            self.placement.execute("UPDATE resource_providers SET root_provider_id = id WHERE id = ?", row_id)
        return row_id

    def provider_of(self, uuid: str) -> int:
        """The id of a provider."""
        with closing(sqlite3.connect(self.placement.path)) as connection:
            found: int = connection.execute("SELECT id FROM resource_providers WHERE uuid = ?", (uuid,)).fetchone()[0]
        return found

    def inventory(self, provider: int, name: str, **changes: Any) -> None:
        """Add an inventory of one unit."""
        values = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
        class_id = self.named("resource_classes", name)
        self.placement.add("inventories", resource_provider_id=provider, resource_class_id=class_id, **values | changes)

    def claim(self, consumer: str, provider: int, name: str, used: int = 1) -> None:
        """Add an allocation, and its consumer if it is new."""
        if consumer not in self._ids:
            self._ids[consumer] = self.placement.add(
                "consumers", uuid=consumer, project_id=1, user_id=1, generation=2, consumer_type_id=1
            )
        self.placement.add(
            "allocations",
            resource_provider_id=provider,
            consumer_id=consumer,
            resource_class_id=self.named("resource_classes", name),
            used=used,
        )

    def named(self, table: str, name: str) -> int:
        """The id of a trait or a class, which is added if need be."""
        if f"{table} {name}" not in self._ids:
            self._ids[f"{table} {name}"] = self.placement.add(table, name=name)
        return self._ids[f"{table} {name}"]


def small_cloud(folder: Path, ironic: str = "ironic-39") -> Cloud:
    """A cloud with a few nodes, something in each table, a tree and a VM host."""
    cloud = Cloud(folder, ironic)
    made = cloud.ironic
    made.add("conductors", hostname="old-1", conductor_group="")
    made.add("chassis", uuid=name_of("chassis", 0), description="A row", extra={"a": 1})
    free, used, group = 70, 63, None
    cloud.node(free, chassis_id=1)
    cloud.node(used, conductor_affinity=1)
    cloud.node(71 + 3, name="renamed-later")
    group = made.add(
        "portgroups", uuid=name_of("portgroup", 0), node_id=1, name="g", address="52:54:01:00:00:01", mode="802.3ad"
    )
    for number in range(4):
        made.add(
            "ports",
            uuid=name_of("port", number),
            node_id=1 + number % 2,
            address=f"52:54:00:00:00:{number:02x}",
            name=f"p{number}",
            portgroup_id=group if number == 0 else None,
            available_for_dynamic_portgroup=True,
        )
    made.add("volume_connectors", uuid=name_of("connector", 0), node_id=1, type="iqn", connector_id="iqn.x", extra={})
    made.add(
        "volume_targets",
        uuid=name_of("target", 0),
        node_id=1,
        volume_type="iscsi",
        volume_id="v",
        boot_index=0,
        properties={"auth_password": "of a volume"},
    )
    made.add("bios_settings", node_id=1, name="admin_password", value="of the bios")
    made.add("firmware_information", node_id=1, component="bmc", initial_version="1")
    made.add("node_inventory", node_id=1, inventory_data={"a": 1}, plugin_data={"b": 2})
    made.add("node_history", uuid=name_of("event", 0), node_id=1, event="x", event_type="provision", severity="INFO")
    made.add("node_tags", node_id=1, tag="a-tag")
    made.add("deploy_templates", uuid=name_of("template", 0), name="CUSTOM_T", extra={})
    made.add("deploy_template_steps", deploy_template_id=1, interface="deploy", step="x", args={}, priority=10)
    made.add("runbooks", uuid=name_of("runbook", 0), name="CUSTOM_R", public=False)
    made.add("runbook_steps", runbook_id=1, interface="bios", step="x", args={"password": "of a step"}, order=1)
    if "runbook_traits" in columns(ironic):
        made.add("runbook_traits", runbook_id=1, trait="CUSTOM_R")
    made.add("inspection_rules", uuid=name_of("rule", 0), priority=1, phase="main", actions=[], conditions=[])
    allocation = made.add(
        "allocations",
        uuid=name_of("allocation", 0),
        node_id=1,
        state="active",
        resource_class=class_of(free),
        traits=[],
    )
    made.execute(
        "UPDATE nodes SET allocation_id = ?, instance_uuid = ? WHERE id = 1", allocation, name_of("allocation", 0)
    )
    device = cloud.provider(name_of("other", 0), "device", parent=2, root=2)
    cloud.inventory(device, "PGPU", total=2, max_unit=2)
    cloud.claim(instance_of(used) or "", device, "PGPU")
    host = cloud.provider(name_of("other", 1), "vm-host")
    cloud.inventory(host, "VCPU", total=16, max_unit=16, allocation_ratio=4.5)
    cloud.claim(name_of("server", 0), host, "VCPU", used=3)
    aggregate = cloud.placement.add("placement_aggregates", uuid=name_of("aggregate", 0))
    for provider in (1, host):
        cloud.placement.add("resource_provider_aggregates", resource_provider_id=provider, aggregate_id=aggregate)
    return cloud
