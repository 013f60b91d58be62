"""What conductors say about the hardware types that they serve."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

#: A new table only, which the release before does not use; where its rows are missing this one does without.
served_since = "0015"

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
        "conductor_hardware_types",
        sa.Column("conductor_id", sa.Integer(), nullable=False),
        sa.Column("hardware_type", sa.String(length=64), nullable=False),
        sa.Column("offers", LONG_TEXT, nullable=False),
        sa.Column("facts", LONG_TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["conductor_id"],
            ["conductors.id"],
            name="fk_conductor_hardware_types_conductor_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conductor_id", "hardware_type", name="pk_conductor_hardware_types"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("conductor_hardware_types")
