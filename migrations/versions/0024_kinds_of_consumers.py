"""Consumers: for which kind of request one was made, so that no other kind takes its UUID or gives back what it has."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

#: Earlier releases leave the column empty. Until they are gone a request that waits reserves no consumer.
served_since = "0021"


def upgrade() -> None:
    op.add_column("consumers", sa.Column("request_kind", sa.String(length=16)))


def downgrade() -> None:
    columns = sa.inspect(op.get_bind()).get_columns("consumers")
    if any(column["name"] == "request_kind" for column in columns):  # on MariaDB, not if this was interrupted before
        op.execute(sa.text("DELETE FROM consumers WHERE generation = 0 AND request_kind IS NOT NULL"))
    op.drop_column("consumers", "request_kind")
