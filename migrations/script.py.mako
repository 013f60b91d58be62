"""${message}"""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None

#: The oldest release, called by its newest revision, that can go on serving the database while this runs and after it.
#: With the revision itself, an upgrade needs a stop: api-ref/contributing/migration.rst says when it does not.
served_since = ${repr(up_revision)}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    ${downgrades if downgrades else "pass"}
