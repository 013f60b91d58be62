"""What happened to nodes, which conductor last prepared each, and the release that a conductor is pinned to."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
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
        "node_history",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("severity", sa.String(length=16), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("event_type", sa.String(length=64), nullable=False),
        sa.Column("conductor", sa.String(length=255)),
        sa.Column("user", sa.String(length=255)),
        sa.Column("project", sa.String(length=255)),
        sa.Column("provision_state", sa.String(length=32)),
        sa.Column("target_provision_state", sa.String(length=32)),
        sa.Column("duration_seconds", sa.Double()),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_node_history_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_node_history"),
        sa.UniqueConstraint("uuid", name="uq_node_history_uuid"),
        **TABLE,
    )
    op.create_index("ix_node_history_node_id", "node_history", ["node_id", "id"])
    op.add_column("conductors", sa.Column("pin_release_version", sa.String(length=32)))
    op.add_column("nodes", sa.Column("conductor_affinity", sa.String(length=255)))


def downgrade() -> None:
    # Not as a batch: on SQLite that makes the table anew, and what refers to its rows goes with the old one.
    op.drop_column("nodes", "conductor_affinity")
    op.drop_column("conductors", "pin_release_version")
    op.drop_table("node_history")
