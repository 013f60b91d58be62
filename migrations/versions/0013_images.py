"""Images, with their properties, tags and members."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

#: The release before knows nothing of these tables, and changes nothing that they refer to.
served_since = "0012"

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
    op.create_table(
        "images",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255)),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("visibility", sa.String(length=16), nullable=False),
        sa.Column("owner", sa.String(length=255)),
        sa.Column("protected", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("os_hidden", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("container_format", sa.String(length=32)),
        sa.Column("disk_format", sa.String(length=32)),
        sa.Column("min_disk", sa.Integer(), server_default="0", nullable=False),
        sa.Column("min_ram", sa.Integer(), server_default="0", nullable=False),
        sa.Column("location", sa.Text()),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_images"),
        sa.UniqueConstraint("uuid", name="uq_images_uuid"),
        **TABLE,
    )
    for column in ("name", "owner", "created_at"):
        op.create_index(f"ix_images_{column}", "images", [column])
    _create_parts()


def _create_parts() -> None:
    op.create_table(
        "image_properties",
        sa.Column("image_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("value", LONG_TEXT, nullable=False),
        sa.ForeignKeyConstraint(["image_id"], ["images.id"], name="fk_image_properties_image_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("image_id", "name", name="pk_image_properties"),
        **TABLE,
    )
    op.create_table(
        "image_tags",
        sa.Column("image_id", sa.Integer(), nullable=False),
        sa.Column("tag", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["image_id"], ["images.id"], name="fk_image_tags_image_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("image_id", "tag", name="pk_image_tags"),
        **TABLE,
    )
    op.create_table(
        "image_members",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("image_id", sa.Integer(), nullable=False),
        sa.Column("member", sa.String(length=255), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("updated_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["image_id"], ["images.id"], name="fk_image_members_image_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_image_members"),
        sa.UniqueConstraint("image_id", "member", name="uq_image_members_image_id_member"),
        **TABLE,
    )
    op.create_index("ix_image_members_member", "image_members", ["member"])


def downgrade() -> None:
    for table in ("image_members", "image_tags", "image_properties", "images"):
        op.drop_table(table)
