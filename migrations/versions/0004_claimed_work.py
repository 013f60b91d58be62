"""Which process does a piece of work, and how often it has written; what a conductor undid on providers."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("node_work", sa.Column("claimed_by", sa.String(length=36)))
    op.add_column("node_work", sa.Column("writes", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("conductors", sa.Column("undone_changes", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    op.drop_column("conductors", "undone_changes")
    op.drop_column("node_work", "writes")
    op.drop_column("node_work", "claimed_by")
