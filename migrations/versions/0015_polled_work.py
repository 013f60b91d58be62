"""Work that waits until its machine is asked again how far it is."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

#: The release before does not wait: a node whose polled step is handed over to one of its conductors fails, as whatever
#: another conductor has begun does there.
served_since = "0014"


def upgrade() -> None:
    op.add_column("node_work", sa.Column("not_before", sa.Double()))


def downgrade() -> None:
    op.drop_column("node_work", "not_before")
