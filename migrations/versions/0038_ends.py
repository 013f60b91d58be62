"""Ends of claims: moments at which machines are given back, and a counter of what changes when a machine is free."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

#: Earlier releases neither read nor write any of this. Ends are refused until ``db upgrade --finish``.
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


def upgrade() -> None:
    op.create_table(
        "claim_ends",
        sa.Column("consumer_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("began_at", sa.Double(), nullable=False),
        sa.Column("set_at", sa.Double(), nullable=False),
        sa.Column("ends_at", sa.Double(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("told", sa.Double()),
        sa.Column("tries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("late_since", sa.Double()),
        sa.Column("reason", sa.Text()),
        sa.ForeignKeyConstraint(
            ["consumer_id"], ["consumers.id"], name="fk_claim_ends_consumer_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("consumer_id", name="pk_claim_ends"),
        **TABLE,
    )
    op.create_index("ix_claim_ends_due_at", "claim_ends", ["due_at"])
    op.add_column("inventories", sa.Column("calendar", sa.Integer(), server_default="0", nullable=False))
    for column in ("ends_at", "lasts"):
        op.add_column("pending_claims", sa.Column(column, sa.Double()))


def downgrade() -> None:
    for column in ("lasts", "ends_at"):
        op.drop_column("pending_claims", column)
    op.drop_column("inventories", "calendar")
    op.drop_table("claim_ends")
