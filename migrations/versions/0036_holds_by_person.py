"""Names of the persons who asserted holds. Another person, or another reason, is another hold."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

#: Earlier releases do not write this column. They refuse a second hold of a type by one project, as this one does
#: until no earlier release can serve the database.
served_since = "0021"


def upgrade() -> None:
    op.add_column("holds", sa.Column("asserted_by_name", sa.String(255), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("holds", "asserted_by_name")
