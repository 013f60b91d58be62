"""Webhooks: a mark of the last event that was delivered, which tells it from another one of the same number."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

#: Earlier releases leave it empty.
served_since = "0021"


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("mark", sa.String(length=8)))


def downgrade() -> None:
    op.drop_column("webhooks", "mark")
