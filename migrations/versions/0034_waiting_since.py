"""Since when nodes wait, by the clock of the database, and how far clocks of hosts are from it."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

#: Earlier releases do not write these columns. What they let wait is recognized by its ``provision_updated_at``.
served_since = "0021"


def upgrade() -> None:
    op.add_column("nodes", sa.Column("waiting_since", sa.Double()))
    op.add_column("nodes", sa.Column("waiting_since_of", sa.DateTime()))
    op.add_column("conductors", sa.Column("clock_difference", sa.Double()))


def downgrade() -> None:
    op.drop_column("conductors", "clock_difference")
    op.drop_column("nodes", "waiting_since_of")
    op.drop_column("nodes", "waiting_since")
