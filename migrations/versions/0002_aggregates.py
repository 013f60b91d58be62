"""Aggregates of resource providers."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
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


def upgrade() -> None:
    op.create_table(
        "aggregates",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_aggregates"),
        sa.UniqueConstraint("uuid", name="uq_aggregates_uuid"),
        **TABLE,
    )
    op.create_table(
        "provider_aggregates",
        sa.Column("provider_id", sa.Integer(), nullable=False),
        sa.Column("aggregate_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["aggregate_id"], ["aggregates.id"], name="fk_provider_aggregates_aggregate_id"),
        sa.ForeignKeyConstraint(
            ["provider_id"],
            ["resource_providers.id"],
            name="fk_provider_aggregates_provider_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("provider_id", "aggregate_id", name="pk_provider_aggregates"),
        **TABLE,
    )
    op.create_index("ix_provider_aggregates_aggregate_id", "provider_aggregates", ["aggregate_id", "provider_id"])


def downgrade() -> None:
    op.drop_table("provider_aggregates")
    op.drop_table("aggregates")
