"""Claims that wait until a machine is free."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

#: The release before does not hand machines over. Nothing waits until it is gone: see ``db.schema_state``.
served_since = "0019"

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
QUEUE = ["state", "resource_class", "needed_trait", "priority", "request_key", "asked_at", "deadline"]


def upgrade() -> None:
    op.create_table(
        "pending_claims",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("resource_class", sa.String(length=255), nullable=False),
        sa.Column("priority", sa.Integer(), server_default="0", nullable=False),
        sa.Column("asked_at", sa.Double(), nullable=False),
        sa.Column("deadline", sa.Double(), nullable=False),
        sa.Column("decided_at", sa.Double()),
        sa.Column("request", LONG_TEXT, nullable=False),
        sa.Column("request_key", sa.String(length=64), nullable=False),
        sa.Column("needed_trait", sa.String(length=255)),
        sa.Column("body_digest", sa.String(length=64)),
        sa.Column("consumer_project", sa.String(length=255), nullable=False),
        sa.Column("consumer_user", sa.String(length=255), nullable=False),
        sa.Column("consumer_type", sa.String(length=255)),
        sa.Column("reason", sa.Text()),
        sa.Column("secret", LONG_TEXT),
        sa.Column("request_id", sa.String(length=64)),
        sa.Column("user_id", sa.String(length=255)),
        sa.Column("project_id", sa.String(length=255)),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_pending_claims"),
        sa.UniqueConstraint("uuid", name="uq_pending_claims_uuid"),
        sqlite_autoincrement=True,
        **TABLE,
    )
    op.create_index("ix_pending_claims_queue", "pending_claims", QUEUE)
    op.create_index("ix_pending_claims_entry", "pending_claims", ["request_key", "state", "priority", "asked_at"])
    op.create_index("ix_pending_claims_project", "pending_claims", ["consumer_project", "state"])
    for name in ("asked_at", "wait_until"):
        op.add_column("servers", sa.Column(name, sa.Double()))
    op.add_column("conductors", sa.Column("swept_machines", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("conductors", "swept_machines")
    for name in ("asked_at", "wait_until"):
        op.drop_column("servers", name)
    op.drop_table("pending_claims")
