"""The traits of a provider as a text of its row, for those who look at one provider after the other."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

#: Ids in order, with commas between them; no text for providers without traits.
_OWN = "provider_traits WHERE provider_id = resource_providers.id"
_SET = "UPDATE resource_providers SET trait_ids ="
_WRITE = {
    "mariadb": f"{_SET} COALESCE((SELECT GROUP_CONCAT(trait_id ORDER BY trait_id SEPARATOR ',') FROM {_OWN}), '')",
    # One pass: without statistics, PostgreSQL may read all traits for each provider.
    "postgresql": f"{_SET} own.ids FROM (SELECT provider_id, "
    "string_agg(CAST(trait_id AS VARCHAR), ',' ORDER BY trait_id) AS ids FROM provider_traits GROUP BY provider_id) "
    "AS own WHERE own.provider_id = resource_providers.id",
    "sqlite": f"{_SET} COALESCE((SELECT group_concat(trait_id, ',') "
    f"FROM (SELECT trait_id FROM {_OWN} ORDER BY trait_id)), '')",
}


def upgrade() -> None:
    text = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
    op.add_column("resource_providers", sa.Column("trait_ids", text, nullable=False, server_default=""))
    dialect = op.get_bind().dialect.name
    op.execute(_WRITE["mariadb" if dialect == "mysql" else dialect])


def downgrade() -> None:
    # Not as a batch: on SQLite that makes the table anew, and what refers to its rows goes with the old one.
    op.drop_column("resource_providers", "trait_ids")
