"""Which releases can serve the schema, recorded for releases that are older than it."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
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
    # env.py writes its row with every migration, this one included.
    op.create_table(
        "schema_state",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.String(length=32)),
        sa.Column("served_since", sa.String(length=32), nullable=False),
        sa.Column("changing_to", sa.String(length=32)),
        sa.PrimaryKeyConstraint("id", name="pk_schema_state"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("schema_state")
