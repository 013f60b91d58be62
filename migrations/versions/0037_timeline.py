"""A timeline: who made the change of an event, events by their time, and how many machines of each class were free."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

#: Earlier releases neither read nor write any of this. Nothing is written until ``db upgrade --finish``.
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
_INDEX = "ix_events_at_number"
#: CREATE INDEX CONCURRENTLY waits for the transactions that are open; none lasts longer.
_WAIT = "SET lock_timeout = '120s'"


def upgrade() -> None:
    _index()
    for table in ("events", "event_notes"):
        for column in ("user_id", "user_project_id"):
            op.add_column(table, sa.Column(column, sa.String(length=255)))
    op.create_table(
        "capacity_samples",
        sa.Column("resource_class", sa.String(length=255), nullable=False),
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("free", sa.Integer(), nullable=False),
        sa.Column("in_use", sa.Integer(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("resource_class", "at", name="pk_capacity_samples"),
        **TABLE,
    )
    op.create_index("ix_capacity_samples_at", "capacity_samples", ["at"])


def _index() -> None:
    """Make the index while events are written. On PostgreSQL that is no part of a transaction: it comes first, and what
    a killed migrator has left is dropped. MariaDB and MySQL do it online by themselves."""
    if op.get_bind().dialect.name != "postgresql":
        op.create_index(_INDEX, "events", ["at", "number"])
        return
    before = op.get_bind().exec_driver_sql("SHOW lock_timeout").scalar()
    with op.get_context().autocommit_block():
        op.execute(_WAIT)
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {_INDEX}")
        op.create_index(_INDEX, "events", ["at", "number"], postgresql_concurrently=True)
        op.execute(f"SET lock_timeout = '{before}'")


def downgrade() -> None:
    op.drop_table("capacity_samples")
    for table in ("event_notes", "events"):
        for column in ("user_project_id", "user_id"):
            op.drop_column(table, column)
    op.drop_index(_INDEX, "events")
