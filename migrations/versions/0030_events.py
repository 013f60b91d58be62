"""Events: every change of machines, claims and holds, in the order in which they were committed."""

import uuid

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

#: Earlier releases write no events. Until they are gone nobody can read any, so that none is missed.
served_since = "0021"

#: Compare byte by byte on MariaDB and MySQL too.
TABLE = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
}

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def _columns() -> list[sa.Column]:
    return [
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.String(length=36), nullable=False),
        sa.Column("node", sa.String(length=36)),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("name", sa.String(length=255)),
        sa.Column("provision_state", sa.String(length=32)),
        sa.Column("power_state", sa.String(length=32)),
        sa.Column("maintenance", sa.Boolean()),
        sa.Column("owner", sa.String(length=255)),
        sa.Column("lessee", sa.String(length=255)),
        sa.Column("resource_class", sa.String(length=80)),
        sa.Column("conductor_group", sa.String(length=255)),
        sa.Column("project_id", sa.String(length=255)),
        sa.Column("data", LONG_TEXT, nullable=False),
    ]


def upgrade() -> None:
    op.create_table(
        "event_notes",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        *_columns(),
        sa.PrimaryKeyConstraint("id", name="pk_event_notes"),
        sqlite_autoincrement=True,
        **TABLE,
    )
    op.create_table(
        "events",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        *_columns(),
        sa.PrimaryKeyConstraint("number", name="pk_events"),
        **TABLE,
    )
    op.create_index("ix_events_node_number", "events", ["node", "number"])
    op.create_table(
        "event_projects",
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "number", name="pk_event_projects"),
        **TABLE,
    )
    op.create_index("ix_event_projects_number", "event_projects", ["number"])
    stream = op.create_table(
        "event_stream",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("last", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("holder", sa.String(length=36)),
        sa.Column("held_until", sa.Double(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_event_stream"),
        **TABLE,
    )
    op.bulk_insert(stream, [{"id": 1, "uuid": str(uuid.uuid4())}])


def downgrade() -> None:
    op.drop_table("event_projects")
    op.drop_table("events")
    op.drop_table("event_notes")
    op.drop_table("event_stream")
