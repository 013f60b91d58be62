"""The requester of a piece of work on a node."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

#: The release before writes none of these columns, and does not miss them.
served_since = "0013"

_COLUMNS = (("request_id", 64), ("user_id", 255), ("project_id", 255))


def upgrade() -> None:
    for name, length in _COLUMNS:
        op.add_column("node_work", sa.Column(name, sa.String(length=length)))


def downgrade() -> None:
    for name, _ in reversed(_COLUMNS):
        op.drop_column("node_work", name)
