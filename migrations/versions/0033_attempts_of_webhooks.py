"""How long the last attempt of a webhook took, its last attempts, and deliveries for a test."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

#: Earlier releases neither read nor write it, and miss nothing: a webhook without an entry counts as quick.
served_since = "0021"

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("last_seconds", sa.Double()))
    op.add_column("webhooks", sa.Column("attempts", LONG))


def downgrade() -> None:
    op.drop_column("webhooks", "attempts")
    op.drop_column("webhooks", "last_seconds")
