"""Servers, their tags and their actions."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None
#: New tables only, which the release before does not use.
served_since = "0011"

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
    create_servers()
    op.create_table(
        "server_tags",
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("tag", sa.String(length=60), nullable=False),
        sa.ForeignKeyConstraint(["server_id"], ["servers.id"], name="fk_server_tags_server_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("server_id", "tag", name="pk_server_tags"),
        **TABLE,
    )
    op.create_index("ix_server_tags_tag", "server_tags", ["tag"])
    op.create_table(
        "server_actions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("server_id", sa.Integer(), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("project_id", sa.String(length=255)),
        sa.Column("user_id", sa.String(length=255)),
        sa.Column("message", sa.String(length=255)),
        sa.Column("events", LONG_TEXT, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(["server_id"], ["servers.id"], name="fk_server_actions_server_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_server_actions"),
        **TABLE,
    )
    op.create_index("ix_server_actions_server_id", "server_actions", ["server_id", "request_id"])


def create_servers() -> None:
    op.create_table(
        "servers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        *(sa.Column(name, sa.String(length=255), nullable=False) for name in ("name", "hostname")),
        sa.Column("description", sa.String(length=255)),
        *(sa.Column(name, sa.String(length=255), nullable=False) for name in ("project_id", "user_id")),
        sa.Column("flavor", LONG_TEXT, nullable=False),
        sa.Column("flavor_id", sa.String(length=255), nullable=False),
        sa.Column("image", LONG_TEXT),
        sa.Column("image_id", sa.String(length=36)),
        sa.Column("keypair", LONG_TEXT),
        sa.Column("user_data", LONG_TEXT),
        sa.Column("config_drive", sa.Boolean(), server_default=sa.false(), nullable=False),
        *(sa.Column(name, LONG_TEXT, nullable=False) for name in ("metadata", "security_groups", "scheduler_hints")),
        sa.Column("requested_zone", sa.String(length=255)),
        sa.Column("requested_node", sa.String(length=36)),
        sa.Column("reservation_id", sa.String(length=36), nullable=False),
        sa.Column("launch_index", sa.Integer(), server_default="0", nullable=False),
        sa.Column("disk_config", sa.String(length=8), server_default="MANUAL", nullable=False),
        *(sa.Column(name, sa.String(length=64)) for name in ("access_ip_v4", "access_ip_v6")),
        sa.Column("locked", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("locked_reason", sa.String(length=255)),
        *(sa.Column(name, sa.String(length=32)) for name in ("task", "power_after_task")),
        sa.Column("fault", LONG_TEXT),
        sa.Column("tried_nodes", LONG_TEXT, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("launched_at", sa.DateTime()),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_servers"),
        sa.UniqueConstraint("uuid", name="uq_servers_uuid"),
        **TABLE,
    )
    for name in ("project_id", "created_at", "name", "task"):
        op.create_index(f"ix_servers_{name}", "servers", [name])


def downgrade() -> None:
    for table in ("server_actions", "server_tags", "servers"):
        op.drop_table(table)
