"""How many calls of drivers each conductor has given up."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

#: The release before does not write the column, and does not miss it.
served_since = "0017"


def upgrade() -> None:
    op.add_column("conductors", sa.Column("given_up_calls", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("conductors", "given_up_calls")
