"""Holds: why a machine is not to be used, by whom, from when to when."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

#: Earlier releases know the flags of nodes, but no holds. Until they are gone only the flag can be set, and what they
#: did to it is found out by each change: see ``baremetal.holds``.
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

UUIDS = {
    "sqlite": "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' "
    "|| substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))",
    "postgresql": "CAST(gen_random_uuid() AS text)",
}
NOWS = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) AS double precision)",
}
#: A node with a fault is in maintenance for it; any other has been put in maintenance.
BACKFILL = (
    "INSERT INTO holds (uuid, node_id, type, reason, scope, asserted_by, asserted_by_project, asserted_at, written_at, "
    "extra, begun_at) SELECT {uuid}, n.id, CASE WHEN n.fault IS NULL THEN 'legacy' ELSE 'fault' END, "
    "n.maintenance_reason, 'system', '', '', {now}, {now}, "
    "CASE WHEN n.fault IS NULL THEN NULL ELSE {extra} END, {now} FROM nodes n "
    "WHERE n.maintenance <> {false} AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.node_id = n.id)"
)


def upgrade() -> None:
    op.create_table(
        "holds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("asserted_by", sa.String(length=255), server_default="", nullable=False),
        sa.Column("asserted_by_project", sa.String(length=255), server_default="", nullable=False),
        sa.Column("asserted_at", sa.Double(), nullable=False),
        sa.Column("written_at", sa.Double(), nullable=False),
        sa.Column("extra", LONG_TEXT),
        sa.Column("starts_at", sa.Double()),
        sa.Column("ends_at", sa.Double()),
        sa.Column("drain", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("drain_deadline", sa.Double()),
        sa.Column("begun_at", sa.Double()),
        sa.Column("acknowledged_at", sa.Double()),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_holds_node_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_holds"),
        sa.UniqueConstraint("uuid", name="uq_holds_uuid"),
        **TABLE,
    )
    op.create_index("ix_holds_node_id", "holds", ["node_id"])
    op.create_index("ix_holds_begun_at_starts_at", "holds", ["begun_at", "starts_at"])
    op.create_index("ix_holds_ends_at", "holds", ["ends_at"])
    dialect = op.get_bind().dialect.name
    statement = BACKFILL.format(
        uuid=UUIDS.get(dialect, "UUID()"),
        now=NOWS.get(dialect, "(UNIX_TIMESTAMP(NOW(6)) + 0e0)"),
        false="false" if dialect == "postgresql" else "0",
        extra="CONCAT('{\"kind\":\"', n.fault, '\"}')" if dialect != "sqlite" else "'{\"kind\":\"' || n.fault || '\"}'",
    )
    op.execute(sa.text(statement.replace(":", r"\:")))


def downgrade() -> None:
    op.drop_table("holds")
