"""How long the last attempt of a webhook took, its last attempts, and deliveries for a test."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

#: Earlier releases neither read nor write it, and miss nothing: a webhook without an entry counts as quick.
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
    op.add_column("webhooks", sa.Column("last_seconds", sa.Double()))
    op.add_column("webhooks", sa.Column("attempts", LONG))
    op.create_table(
        "webhook_tests",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project", sa.String(length=255), nullable=False),
        sa.Column("token", sa.String(length=36), nullable=False),
        sa.Column("webhook_id", sa.Integer(), nullable=False),
        sa.Column("asked", LONG, nullable=False),
        sa.Column("begins_before", sa.Double(), nullable=False),
        sa.Column("is_taken", sa.Boolean(), nullable=False),
        sa.Column("answer", LONG),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_tests"),
        sa.UniqueConstraint("project", name="uq_webhook_tests_project"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("webhook_tests")
    op.drop_column("webhooks", "attempts")
    op.drop_column("webhooks", "last_seconds")
