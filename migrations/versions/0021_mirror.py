"""Whether this database is a mirror of an Ironic and a Placement, which only an import writes."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

#: An import says in the database that earlier releases, which do not know the mark, cannot serve it.
served_since = "0020"


def upgrade() -> None:
    op.add_column("schema_state", sa.Column("mirror_of", sa.Text()))
    op.add_column("schema_state", sa.Column("mirror_phase", sa.String(length=16)))
    op.add_column("schema_state", sa.Column("mirror_until", sa.Double()))


def downgrade() -> None:
    op.drop_column("schema_state", "mirror_until")
    op.drop_column("schema_state", "mirror_phase")
    op.drop_column("schema_state", "mirror_of")
