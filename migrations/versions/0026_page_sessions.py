"""Sessions of people who are logged in to the pages."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

#: Earlier releases have no sessions, and do not look at the table.
served_since = "0021"

#: Compare byte by byte on MariaDB and MySQL too.
TABLE = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
}


def upgrade() -> None:
    op.create_table(
        "page_sessions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=255), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("form_token", sa.String(length=64), nullable=False),
        sa.Column("tokens", sa.Text()),
        sa.Column("entry", sa.String(length=64)),
        sa.Column("is_fixed", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_page_sessions"),
        sa.UniqueConstraint("digest", name="uq_page_sessions_digest"),
        sa.UniqueConstraint("person", "place", name="uq_page_sessions_person"),
        **TABLE,
    )
    op.create_index("ix_page_sessions_expires_at", "page_sessions", ["expires_at"])


def downgrade() -> None:
    op.drop_table("page_sessions")
