"""Flavors, the projects that may use private ones, and key pairs."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

#: New tables only, which the release before does not look at.
served_since = "0010"

#: Compare byte by byte on MariaDB and MySQL too.
TABLE = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
}

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "flavors",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("flavorid", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("vcpus", sa.Integer(), nullable=False),
        sa.Column("memory_mb", sa.Integer(), nullable=False),
        sa.Column("root_gb", sa.Integer(), nullable=False),
        sa.Column("ephemeral_gb", sa.Integer(), server_default="0", nullable=False),
        sa.Column("swap_mb", sa.Integer(), server_default="0", nullable=False),
        sa.Column("rxtx_factor", sa.Double(), server_default="1", nullable=False),
        sa.Column("is_public", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("description", TEXT),
        sa.Column("extra_specs", TEXT, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime()),
        sa.PrimaryKeyConstraint("id", name="pk_flavors"),
        sa.UniqueConstraint("flavorid", name="uq_flavors_flavorid"),
        sa.UniqueConstraint("name", name="uq_flavors_name"),
        **TABLE,
    )
    op.create_index("ix_flavors_is_public", "flavors", ["is_public"])
    op.create_table(
        "flavor_projects",
        sa.Column("flavor_id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["flavor_id"], ["flavors.id"], name="fk_flavor_projects_flavor_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("flavor_id", "project_id", name="pk_flavor_projects"),
        **TABLE,
    )
    op.create_index("ix_flavor_projects_project_id", "flavor_projects", ["project_id"])
    op.create_table(
        "keypairs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("type", sa.String(length=8), nullable=False),
        sa.Column("public_key", TEXT, nullable=False),
        sa.Column("fingerprint", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_keypairs"),
        sa.UniqueConstraint("user_id", "name", name="uq_keypairs_user_id_name"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("keypairs")
    op.drop_table("flavor_projects")
    op.drop_table("flavors")
