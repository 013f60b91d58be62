"""Calls of drivers that requests wait for."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

#: A new table only, which the release before does not use.
served_since = "0016"

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


def upgrade() -> None:
    op.create_table(
        "driver_calls",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(length=36), nullable=False),
        sa.Column("node_id", sa.Integer()),
        sa.Column("hardware_type", sa.String(length=255), nullable=False),
        sa.Column("conductor", sa.String(length=255), nullable=False),
        sa.Column("method", sa.String(length=64), nullable=False),
        sa.Column("arguments", LONG_TEXT, nullable=False),
        sa.Column("idempotent", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("work_id", sa.Integer()),
        sa.Column("requested_at", sa.Double(), nullable=False),
        sa.Column("deadline", sa.Double(), nullable=False),
        sa.Column("claimed_by", sa.String(length=36)),
        sa.Column("reply", LONG_TEXT),
        *(sa.Column(name, sa.String(length=size)) for name, size in (("request_id", 64), ("user_id", 255))),
        sa.Column("project_id", sa.String(length=255)),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_driver_calls_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_driver_calls"),
        sa.UniqueConstraint("token", name="uq_driver_calls_token"),
        sqlite_autoincrement=True,
        **TABLE,
    )
    op.create_index("ix_driver_calls_conductor", "driver_calls", ["conductor", "claimed_by"])
    op.create_index("ix_driver_calls_node_id", "driver_calls", ["node_id"])


def downgrade() -> None:
    op.drop_table("driver_calls")
