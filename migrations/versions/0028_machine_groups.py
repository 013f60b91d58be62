"""Groups of machines that are claimed together, all or none."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

#: Earlier releases know no groups. Until they are gone none can be made, so there is nothing that they could miss.
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
        "machine_groups",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("spread_by", sa.String(length=64)),
        sa.Column("at_most", sa.Integer()),
        sa.Column("pack_by", sa.String(length=64)),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_machine_groups"),
        sa.UniqueConstraint("project", "name", name="uq_machine_groups_project"),
        **TABLE,
    )
    op.create_table(
        "group_members",
        sa.Column("consumer_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("claim", sa.String(length=36), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("group_id", sa.Integer()),
        sa.ForeignKeyConstraint(
            ["consumer_id"], ["consumers.id"], name="fk_group_members_consumer_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["group_id"], ["machine_groups.id"], name="fk_group_members_group_id"),
        sa.PrimaryKeyConstraint("consumer_id", name="pk_group_members"),
        **TABLE,
    )
    op.create_index("ix_group_members_claim", "group_members", ["claim"])
    op.create_index("ix_group_members_group_id", "group_members", ["group_id"])
    op.add_column("pending_claims", sa.Column("group_id", sa.Integer()))


def downgrade() -> None:
    op.execute(sa.text("DELETE FROM pending_claims WHERE state = 'gathering'"))
    op.drop_column("pending_claims", "group_id")
    op.drop_table("group_members")
    op.drop_table("machine_groups")
