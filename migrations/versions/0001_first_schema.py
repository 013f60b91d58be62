"""The first schema: nodes and conductors, resource providers and allocations."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None
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
    op.create_table(
        "chassis",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("description", sa.String(length=255)),
        sa.Column("extra", JSON),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_chassis"),
        sa.UniqueConstraint("uuid", name="uq_chassis_uuid"),
        **TABLE,
    )
    op.create_table(
        "conductors",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hostname", sa.String(length=255), nullable=False),
        sa.Column("conductor_group", sa.String(length=255), server_default="", nullable=False),
        sa.Column("online", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("heartbeat_at", sa.Double(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_conductors"),
        sa.UniqueConstraint("hostname", name="uq_conductors_hostname"),
        **TABLE,
    )
    op.create_table(
        "consumers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("consumer_type", sa.String(length=255)),
        sa.Column("generation", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_consumers"),
        sa.UniqueConstraint("uuid", name="uq_consumers_uuid"),
        **TABLE,
    )
    op.create_index("ix_consumers_project_id_user_id", "consumers", ["project_id", "user_id"])
    op.create_table(
        "resource_classes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_resource_classes"),
        sa.UniqueConstraint("name", name="uq_resource_classes_name"),
        **TABLE,
    )
    op.create_table(
        "resource_providers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("generation", sa.Integer(), server_default="0", nullable=False),
        sa.Column("parent_id", sa.Integer()),
        sa.Column("root_id", sa.Integer()),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(["parent_id"], ["resource_providers.id"], name="fk_resource_providers_parent_id"),
        sa.ForeignKeyConstraint(["root_id"], ["resource_providers.id"], name="fk_resource_providers_root_id"),
        sa.PrimaryKeyConstraint("id", name="pk_resource_providers"),
        sa.UniqueConstraint("name", name="uq_resource_providers_name"),
        sa.UniqueConstraint("uuid", name="uq_resource_providers_uuid"),
        **TABLE,
    )
    op.create_index("ix_resource_providers_parent_id", "resource_providers", ["parent_id"])
    op.create_index("ix_resource_providers_root_id", "resource_providers", ["root_id"])
    op.create_table(
        "traits",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_traits"),
        sa.UniqueConstraint("name", name="uq_traits_name"),
        **TABLE,
    )
    op.create_table(
        "allocations",
        sa.Column("consumer_id", sa.Integer(), nullable=False),
        sa.Column("provider_id", sa.Integer(), nullable=False),
        sa.Column("resource_class_id", sa.Integer(), nullable=False),
        sa.Column("used", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["consumer_id"], ["consumers.id"], name="fk_allocations_consumer_id"),
        sa.ForeignKeyConstraint(["provider_id"], ["resource_providers.id"], name="fk_allocations_provider_id"),
        sa.ForeignKeyConstraint(
            ["resource_class_id"], ["resource_classes.id"], name="fk_allocations_resource_class_id"
        ),
        sa.PrimaryKeyConstraint("consumer_id", "provider_id", "resource_class_id", name="pk_allocations"),
        **TABLE,
    )
    op.create_index("ix_allocations_provider_id", "allocations", ["provider_id", "resource_class_id"])
    op.create_table(
        "conductor_interfaces",
        sa.Column("conductor_id", sa.Integer(), nullable=False),
        sa.Column("hardware_type", sa.String(length=64), nullable=False),
        sa.Column("interface_type", sa.String(length=16), nullable=False),
        sa.Column("interface_name", sa.String(length=64), nullable=False),
        sa.Column("is_default", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conductor_id"], ["conductors.id"], name="fk_conductor_interfaces_conductor_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint(
            "conductor_id", "hardware_type", "interface_type", "interface_name", name="pk_conductor_interfaces"
        ),
        **TABLE,
    )
    op.create_index("ix_conductor_interfaces_hardware_type", "conductor_interfaces", ["hardware_type"])
    op.create_table(
        "inventories",
        sa.Column("provider_id", sa.Integer(), nullable=False),
        sa.Column("resource_class_id", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("reserved", sa.Integer(), nullable=False),
        sa.Column("min_unit", sa.Integer(), nullable=False),
        sa.Column("max_unit", sa.Integer(), nullable=False),
        sa.Column("step_size", sa.Integer(), nullable=False),
        sa.Column("allocation_ratio", sa.Double(), nullable=False),
        sa.Column("capacity", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("free", sa.BigInteger(), sa.Computed("capacity - used", persisted=True)),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["resource_providers.id"], name="fk_inventories_provider_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["resource_class_id"], ["resource_classes.id"], name="fk_inventories_resource_class_id"
        ),
        sa.PrimaryKeyConstraint("provider_id", "resource_class_id", name="pk_inventories"),
        **TABLE,
    )
    op.create_index("ix_inventories_free", "inventories", ["resource_class_id", "free", "provider_id"])
    op.create_table(
        "nodes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255)),
        sa.Column("chassis_id", sa.Integer()),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("driver", sa.String(length=255), nullable=False),
        sa.Column("driver_info", JSON),
        sa.Column("driver_internal_info", JSON),
        sa.Column("properties", JSON),
        sa.Column("extra", JSON),
        sa.Column("conductor_group", sa.String(length=255), server_default="", nullable=False),
        sa.Column("resource_class", sa.String(length=80)),
        sa.Column("description", sa.Text()),
        sa.Column("owner", sa.String(length=255)),
        sa.Column("lessee", sa.String(length=255)),
        sa.Column("shard", sa.String(length=255)),
        sa.Column("parent_node", sa.String(length=36)),
        sa.Column("instance_uuid", sa.String(length=36)),
        sa.Column("instance_name", sa.String(length=255)),
        sa.Column("instance_info", JSON),
        sa.Column("allocation_uuid", sa.String(length=36)),
        sa.Column("power_state", sa.String(length=32)),
        sa.Column("target_power_state", sa.String(length=32)),
        sa.Column("provision_state", sa.String(length=32), nullable=False),
        sa.Column("target_provision_state", sa.String(length=32)),
        sa.Column("provision_updated_at", sa.DateTime()),
        sa.Column("last_error", sa.Text()),
        sa.Column("reservation", sa.String(length=255)),
        sa.Column("maintenance", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("maintenance_reason", sa.Text()),
        sa.Column("fault", sa.String(length=64)),
        sa.Column("console_enabled", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("protected", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("protected_reason", sa.Text()),
        sa.Column("retired", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("retired_reason", sa.Text()),
        sa.Column("automated_clean", sa.Boolean()),
        sa.Column("disable_power_off", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("inspection_started_at", sa.DateTime()),
        sa.Column("inspection_finished_at", sa.DateTime()),
        sa.Column("clean_step", JSON),
        sa.Column("deploy_step", JSON),
        sa.Column("service_step", JSON),
        sa.Column("raid_config", JSON),
        sa.Column("target_raid_config", JSON),
        sa.Column("network_data", JSON),
        sa.Column("boot_mode", sa.String(length=16)),
        sa.Column("secure_boot", sa.Boolean()),
        sa.Column("health", sa.String(length=32)),
        sa.Column("bios_interface", sa.String(length=64)),
        sa.Column("boot_interface", sa.String(length=64)),
        sa.Column("console_interface", sa.String(length=64)),
        sa.Column("deploy_interface", sa.String(length=64)),
        sa.Column("firmware_interface", sa.String(length=64)),
        sa.Column("inspect_interface", sa.String(length=64)),
        sa.Column("management_interface", sa.String(length=64)),
        sa.Column("network_interface", sa.String(length=64)),
        sa.Column("power_interface", sa.String(length=64)),
        sa.Column("raid_interface", sa.String(length=64)),
        sa.Column("rescue_interface", sa.String(length=64)),
        sa.Column("storage_interface", sa.String(length=64)),
        sa.Column("vendor_interface", sa.String(length=64)),
        sa.ForeignKeyConstraint(["chassis_id"], ["chassis.id"], name="fk_nodes_chassis_id"),
        sa.PrimaryKeyConstraint("id", name="pk_nodes"),
        sa.UniqueConstraint("allocation_uuid", name="uq_nodes_allocation_uuid"),
        sa.UniqueConstraint("instance_uuid", name="uq_nodes_instance_uuid"),
        sa.UniqueConstraint("name", name="uq_nodes_name"),
        sa.UniqueConstraint("uuid", name="uq_nodes_uuid"),
        **TABLE,
    )
    op.create_index("ix_nodes_conductor_group_driver", "nodes", ["conductor_group", "driver"])
    op.create_index("ix_nodes_instance_name", "nodes", ["instance_name"])
    op.create_index("ix_nodes_lessee", "nodes", ["lessee"])
    op.create_index("ix_nodes_owner", "nodes", ["owner"])
    op.create_index("ix_nodes_parent_node", "nodes", ["parent_node"])
    op.create_index("ix_nodes_provision_state", "nodes", ["provision_state"])
    op.create_index("ix_nodes_reservation", "nodes", ["reservation"])
    op.create_index("ix_nodes_resource_class", "nodes", ["resource_class"])
    op.create_index("ix_nodes_shard", "nodes", ["shard"])
    op.create_table(
        "provider_traits",
        sa.Column("provider_id", sa.Integer(), nullable=False),
        sa.Column("trait_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["provider_id"], ["resource_providers.id"], name="fk_provider_traits_provider_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["trait_id"], ["traits.id"], name="fk_provider_traits_trait_id"),
        sa.PrimaryKeyConstraint("provider_id", "trait_id", name="pk_provider_traits"),
        **TABLE,
    )
    op.create_index("ix_provider_traits_trait_id", "provider_traits", ["trait_id", "provider_id"])
    op.create_table(
        "node_traits",
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("trait", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_node_traits_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("node_id", "trait", name="pk_node_traits"),
        **TABLE,
    )
    op.create_index("ix_node_traits_trait", "node_traits", ["trait"])
    op.create_table(
        "node_work",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("conductor", sa.String(length=255), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("arguments", JSON, nullable=False),
        sa.Column("requested_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_node_work_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_node_work"),
        sa.UniqueConstraint("node_id", name="uq_node_work_node_id"),
        # Never give an id out twice: it is a fence.
        sqlite_autoincrement=True,
        **TABLE,
    )
    op.create_index("ix_node_work_conductor", "node_work", ["conductor"])


def downgrade() -> None:
    op.drop_table("node_work")
    op.drop_table("node_traits")
    op.drop_table("provider_traits")
    op.drop_table("nodes")
    op.drop_table("inventories")
    op.drop_table("conductor_interfaces")
    op.drop_table("allocations")
    op.drop_table("traits")
    op.drop_table("resource_providers")
    op.drop_table("resource_classes")
    op.drop_table("consumers")
    op.drop_table("conductors")
    op.drop_table("chassis")
