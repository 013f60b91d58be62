"""Webhooks: receivers to which events are sent."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

#: Earlier releases know no webhooks, and do not look at the table.
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
LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("project", sa.String(length=255), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255)),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("types", LONG, nullable=False),
        sa.Column("nodes", LONG, nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("previous_secret", sa.Text()),
        sa.Column("previous_until", sa.Double()),
        sa.Column("maker", LONG, nullable=False),
        sa.Column("parked", sa.Boolean(), nullable=False),
        sa.Column("stream", sa.String(length=36), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("leased_until", sa.Double(), nullable=False),
        sa.Column("retry_at", sa.Double(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", sa.Double()),
        sa.Column("last_status", sa.Integer()),
        sa.Column("last_error", sa.String(length=255)),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
        sa.UniqueConstraint("uuid", name="uq_webhooks_uuid"),
        sa.UniqueConstraint("project", "place", name="uq_webhooks_project_place"),
        sa.UniqueConstraint("project", "name", name="uq_webhooks_project_name"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("webhooks")
