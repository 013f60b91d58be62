"""Allocations, deploy templates, runbooks, inspection rules."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

JSON = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")

#: Compare byte by byte on MariaDB and MySQL too.
TABLE = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
}


def upgrade() -> None:
    op.create_table(
        "node_allocations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=True),
        sa.Column("node_id", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("resource_class", sa.String(length=80), nullable=True),
        sa.Column("traits", JSON, nullable=True),
        sa.Column("candidate_nodes", JSON, nullable=True),
        sa.Column("owner", sa.String(length=255), nullable=True),
        sa.Column("extra", JSON, nullable=True),
        sa.Column("conductor_affinity", sa.String(length=255), nullable=True),
        *_times(),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_node_allocations_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_node_allocations"),
        sa.UniqueConstraint("uuid", name="uq_node_allocations_uuid"),
        sa.UniqueConstraint("name", name="uq_node_allocations_name"),
        sa.UniqueConstraint("node_id", name="uq_node_allocations_node_id"),
        **TABLE,
    )
    for column in ("resource_class", "state", "owner"):
        op.create_index(f"ix_node_allocations_{column}", "node_allocations", [column])
    op.create_table("deploy_templates", *_named("deploy_templates"), **TABLE)
    op.create_table(
        "runbooks",
        *_named("runbooks"),
        sa.Column("disable_ramdisk", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("public", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("owner", sa.String(length=255), nullable=True),
        **TABLE,
    )
    op.create_index("ix_runbooks_owner", "runbooks", ["owner"])
    op.create_table(
        "runbook_traits",
        sa.Column("runbook_id", sa.Integer(), nullable=False),
        sa.Column("trait", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ["runbook_id"], ["runbooks.id"], name="fk_runbook_traits_runbook_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("runbook_id", "trait", name="pk_runbook_traits"),
        **TABLE,
    )
    op.create_table(
        "inspection_rules",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=True),
        sa.Column("phase", sa.String(length=16), server_default="main", nullable=False),
        sa.Column("priority", sa.Integer(), server_default="0", nullable=False),
        sa.Column("sensitive", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("conditions", JSON, nullable=False),
        sa.Column("actions", JSON, nullable=False),
        *_times(),
        sa.PrimaryKeyConstraint("id", name="pk_inspection_rules"),
        sa.UniqueConstraint("uuid", name="uq_inspection_rules_uuid"),
        **TABLE,
    )
    op.create_index("ix_inspection_rules_phase", "inspection_rules", ["phase", "priority"])


def _times() -> list[sa.Column]:
    return [
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=True),
    ]


def _named(table: str) -> list[sa.schema.SchemaItem]:
    """What deploy templates and runbooks have in common."""
    return [
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.String(length=255), nullable=True),
        sa.Column("steps", JSON, nullable=False),
        sa.Column("extra", JSON, nullable=True),
        *_times(),
        sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
        sa.UniqueConstraint("uuid", name=f"uq_{table}_uuid"),
        sa.UniqueConstraint("name", name=f"uq_{table}_name"),
    ]


def downgrade() -> None:
    for table in ("inspection_rules", "runbook_traits", "runbooks", "deploy_templates", "node_allocations"):
        op.drop_table(table)
