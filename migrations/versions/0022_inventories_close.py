"""From when a machine is not to be claimed, because a hold is planned."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

#: The release before does not know the columns, which stay empty until it is gone: see ``baremetal.holds``.
served_since = "0021"

TABLES = ("nodes", "resource_providers", "inventories")
INDEXES = {
    "ix_inventories_fit": ["resource_class_id", "free", "provider_id", "min_unit", "max_unit", "step_size"],
    "ix_inventories_nodes": ["withheld", "node_class", "node_group", "node_state", "used", "free"],
}


def upgrade() -> None:
    for table in TABLES:
        if not has_column(table):  # a migrator that was killed may have added it
            op.add_column(table, sa.Column("closes_at", sa.Double()))
    index_inventories(["closes_at"])


def downgrade() -> None:
    index_inventories([])
    for table in TABLES:
        op.drop_column(table, "closes_at")


def has_column(table: str) -> bool:
    return "closes_at" in {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}


def index_inventories(more: list[str]) -> None:
    """Make the indexes anew, with ``more`` columns. On MariaDB and MySQL in one statement: releases name one of them in
    their queries, and the key on resource_class_id needs it all the time."""
    if op.get_bind().dialect.name in ("mysql", "mariadb"):
        parts = [f"DROP INDEX {name}" for name in INDEXES]
        parts += [f"ADD INDEX {name} ({', '.join([*columns, *more])})" for name, columns in INDEXES.items()]
        op.execute(f"ALTER TABLE inventories {', '.join(parts)}")
        return
    for name, columns in INDEXES.items():
        op.drop_index(name, "inventories")
        op.create_index(name, "inventories", [*columns, *more])
