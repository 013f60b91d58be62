"""Bookings: machines for later, and the plans of large groups."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

#: Earlier releases read none of this, and open a booked machine when a hold of it changes. Bookings and plans are
#: refused until ``db upgrade --finish``.
served_since = "0021"

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
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
        "bookings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255)),
        sa.Column("project", sa.String(length=255), nullable=False),
        sa.Column("user", sa.String(length=255), nullable=False),
        sa.Column("resource_class", sa.String(length=255), nullable=False),
        sa.Column("request", LONG_TEXT, nullable=False),
        sa.Column("body_digest", sa.String(length=64), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("starts_at", sa.Double(), nullable=False),
        sa.Column("ends_at", sa.Double(), nullable=False),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("is_over", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("short_told", sa.Integer(), server_default="0", nullable=False),
        sa.Column("told", sa.Double()),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_bookings"),
        sa.UniqueConstraint("uuid", name="uq_bookings_uuid"),
        sqlite_autoincrement=True,
        **TABLE,
    )
    op.create_index("ix_bookings_project", "bookings", ["project", "is_over"])
    op.create_index("ix_bookings_is_over_due_at", "bookings", ["is_over", "due_at"])
    op.create_table(
        "booked_machines",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("booking_id", sa.Integer()),
        sa.Column("waiting_id", sa.Integer()),
        sa.Column("starts_at", sa.Double(), nullable=False),
        sa.Column("ends_at", sa.Double()),
        sa.Column("turnaround", sa.Double(), nullable=False),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double()),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name="fk_booked_machines_node_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["booking_id"], ["bookings.id"], name="fk_booked_machines_booking_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["waiting_id"], ["pending_claims.id"], name="fk_booked_machines_waiting_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_booked_machines"),
        sa.UniqueConstraint("booking_id", "node_id", name="uq_booked_machines_booking_id"),
        sa.UniqueConstraint("waiting_id", "node_id", name="uq_booked_machines_waiting_id"),
        **TABLE,
    )
    op.create_index("ix_booked_machines_node_id", "booked_machines", ["node_id", "starts_at"])
    op.create_index("ix_booked_machines_starts_at", "booked_machines", ["starts_at"])
    op.create_table(
        "booking_locks",
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_booking_locks"),
        **TABLE,
    )
    for table in ("claim_ends", "pending_claims"):
        op.add_column(table, sa.Column("booking_id", sa.Integer()))
    op.add_column("pending_claims", sa.Column("kept_since", sa.Double()))
    op.create_index("ix_claim_ends_booking_id", "claim_ends", ["booking_id"])


_BOOKED = "(SELECT node_id FROM booked_machines)"
_UUIDS = f"(SELECT uuid FROM nodes WHERE id IN {_BOOKED})"

#: The release before knows no bookings: it would leave their machines closed for ever. (How long before a hold it
#: closes a machine, it works out again when a hold changes.)
_REOPEN = (
    "UPDATE nodes SET closes_at = (SELECT MIN(COALESCE(holds.starts_at, holds.asserted_at)) FROM holds "
    f"WHERE holds.node_id = nodes.id AND holds.begun_at IS NULL) WHERE id IN {_BOOKED}",
    "UPDATE resource_providers SET closes_at = (SELECT nodes.closes_at FROM nodes "
    f"WHERE nodes.uuid = resource_providers.uuid) WHERE uuid IN {_UUIDS}",
    "UPDATE inventories SET closes_at = (SELECT p.closes_at FROM resource_providers p WHERE p.id = provider_id) "
    f"WHERE provider_id IN (SELECT id FROM resource_providers WHERE uuid IN {_UUIDS})",
)


def downgrade() -> None:
    # It may have been killed after the table was dropped, on MariaDB.
    for statement in _REOPEN if sa.inspect(op.get_bind()).has_table("booked_machines") else ():
        op.execute(statement)
    op.drop_column("pending_claims", "kept_since")
    op.drop_index("ix_claim_ends_booking_id", "claim_ends")
    for table in ("pending_claims", "claim_ends"):
        op.drop_column(table, "booking_id")
    for table in ("booking_locks", "booked_machines", "bookings"):
        op.drop_table(table)
