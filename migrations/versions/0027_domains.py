"""Domains: machines that share a rack, a row, a switch; and which nodes are in them."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

#: Earlier releases know no domains. Until they are gone none can be made, so there is nothing that they could miss.
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
        "domains",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("level", sa.String(length=64), nullable=False),
        sa.Column("parent_id", sa.Integer()),
        sa.Column("from_property", sa.String(length=255)),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.ForeignKeyConstraint(["parent_id"], ["domains.id"], name="fk_domains_parent_id"),
        sa.PrimaryKeyConstraint("id", name="pk_domains"),
        sa.UniqueConstraint("uuid", name="uq_domains_uuid"),
        sa.UniqueConstraint("level", "name", name="uq_domains_level"),
        **TABLE,
    )
    op.create_index("ix_domains_parent_id", "domains", ["parent_id"])
    op.create_table(
        "domain_members",
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("level", sa.String(length=64), nullable=False),
        sa.Column("domain_id", sa.Integer(), nullable=False),
        sa.Column("set_by", sa.String(length=16), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_domain_members_node_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["domain_id"], ["domains.id"], name="fk_domain_members_domain_id"),
        sa.PrimaryKeyConstraint("node_id", "level", name="pk_domain_members"),
        **TABLE,
    )
    op.create_index("ix_domain_members_domain_id", "domain_members", ["domain_id", "node_id"])


def downgrade() -> None:
    op.drop_table("domain_members")
    op.drop_table("domains")
