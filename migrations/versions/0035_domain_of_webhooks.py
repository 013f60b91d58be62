"""The domain whose events a webhook sends."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

#: Earlier releases do not read it, and would send everything: it is not written before they have ended.
served_since = "0021"

_GONE = "It had a filter by domain, which this release does not know."


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("domain", sa.String(length=36)))


def downgrade() -> None:
    if "domain" not in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("webhooks")}:
        return  # a migrator that was killed has removed it
    # Without the filter they would send everything.
    webhooks = sa.table(
        "webhooks", sa.column("domain"), sa.column("parked", sa.Boolean()), sa.column("last_error", sa.String())
    )
    filtered = sa.update(webhooks).where(webhooks.c.domain.is_not(None))
    op.execute(filtered.values(parked=sa.true(), last_error=_GONE))
    op.drop_column("webhooks", "domain")
