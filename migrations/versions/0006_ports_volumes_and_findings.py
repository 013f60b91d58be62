"""Ports and portgroups, remote volumes, and what was found out about nodes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

#: Compare byte by byte on MariaDB and MySQL too.
TABLE = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
}

JSON = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def upgrade() -> None:
    _create_ports()
    _create_volumes()
    _create_findings()


def _create_ports() -> None:
    op.create_table(
        "portgroups",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255)),
        sa.Column("address", sa.String(length=18)),
        sa.Column("mode", sa.String(length=255), nullable=False),
        sa.Column("properties", JSON),
        sa.Column("extra", JSON),
        sa.Column("internal_info", JSON),
        sa.Column("standalone_ports_supported", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("physical_network", sa.String(length=64)),
        sa.Column("category", sa.String(length=80)),
        sa.Column("dynamic_portgroup", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_portgroups_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_portgroups"),
        sa.UniqueConstraint("address", name="uq_portgroups_address"),
        sa.UniqueConstraint("name", name="uq_portgroups_name"),
        sa.UniqueConstraint("uuid", name="uq_portgroups_uuid"),
        **TABLE,
    )
    op.create_index("ix_portgroups_node_id", "portgroups", ["node_id"])
    op.create_table(
        "ports",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("portgroup_id", sa.Integer()),
        sa.Column("address", sa.String(length=18), nullable=False),
        sa.Column("name", sa.String(length=255)),
        sa.Column("description", sa.String(length=255)),
        sa.Column("extra", JSON),
        sa.Column("internal_info", JSON),
        sa.Column("local_link_connection", JSON),
        sa.Column("pxe_enabled", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("physical_network", sa.String(length=64)),
        sa.Column("is_smartnic", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("vendor", sa.String(length=32)),
        sa.Column("category", sa.String(length=80)),
        sa.Column("available_for_dynamic_portgroup", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_ports_node_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["portgroup_id"], ["portgroups.id"], name="fk_ports_portgroup_id"),
        sa.PrimaryKeyConstraint("id", name="pk_ports"),
        sa.UniqueConstraint("address", name="uq_ports_address"),
        sa.UniqueConstraint("name", name="uq_ports_name"),
        sa.UniqueConstraint("uuid", name="uq_ports_uuid"),
        **TABLE,
    )
    op.create_index("ix_ports_node_id", "ports", ["node_id"])
    op.create_index("ix_ports_portgroup_id", "ports", ["portgroup_id"])


def _create_volumes() -> None:
    op.create_table(
        "volume_connectors",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("connector_id", sa.String(length=255), nullable=False),
        sa.Column("extra", JSON),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_volume_connectors_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_volume_connectors"),
        sa.UniqueConstraint("type", "connector_id", name="uq_volume_connectors_type_connector_id"),
        sa.UniqueConstraint("uuid", name="uq_volume_connectors_uuid"),
        **TABLE,
    )
    op.create_index("ix_volume_connectors_node_id", "volume_connectors", ["node_id"])
    op.create_table(
        "volume_targets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("volume_type", sa.String(length=64), nullable=False),
        sa.Column("volume_id", sa.String(length=255), nullable=False),
        sa.Column("boot_index", sa.Integer(), nullable=False),
        sa.Column("properties", JSON),
        sa.Column("extra", JSON),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_volume_targets_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_volume_targets"),
        sa.UniqueConstraint("node_id", "boot_index", name="uq_volume_targets_node_id_boot_index"),
        sa.UniqueConstraint("uuid", name="uq_volume_targets_uuid"),
        **TABLE,
    )


def _create_findings() -> None:
    op.create_table(
        "node_inventories",
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("inventory", JSON, nullable=False),
        sa.Column("plugin_data", JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_node_inventories_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("node_id", name="pk_node_inventories"),
        **TABLE,
    )
    op.create_table(
        "bios_settings",
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("value", sa.Text()),
        sa.Column("attribute_type", sa.String(length=255)),
        sa.Column("allowable_values", JSON),
        sa.Column("lower_bound", sa.BigInteger()),
        sa.Column("upper_bound", sa.BigInteger()),
        sa.Column("min_length", sa.Integer()),
        sa.Column("max_length", sa.Integer()),
        sa.Column("read_only", sa.Boolean()),
        sa.Column("reset_required", sa.Boolean()),
        sa.Column("unique", sa.Boolean()),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_bios_settings_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("node_id", "name", name="pk_bios_settings"),
        **TABLE,
    )
    op.create_table(
        "firmware_components",
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("component", sa.String(length=255), nullable=False),
        sa.Column("initial_version", sa.String(length=255), nullable=False),
        sa.Column("current_version", sa.String(length=255)),
        sa.Column("last_version_flashed", sa.String(length=255)),
        sa.Column("vendor", sa.String(length=255)),
        sa.Column("model", sa.String(length=255)),
        sa.Column("serial_number", sa.String(length=255)),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_firmware_components_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("node_id", "component", name="pk_firmware_components"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("firmware_components")
    op.drop_table("bios_settings")
    op.drop_table("node_inventories")
    op.drop_table("volume_targets")
    op.drop_table("volume_connectors")
    op.drop_table("ports")
    op.drop_table("portgroups")
