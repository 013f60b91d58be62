"""Usages of consumers, each as a text in its row, with an index that has what usages of a project need."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

#: Earlier releases keep no texts. Until they are gone none is read, and ``db upgrade --finish`` writes them anew.
served_since = "0021"

_INDEX, _OLD_INDEX = "ix_consumers_usages", "ix_consumers_project_id_user_id"

#: The type, and the amounts by ids of classes; nothing for those without allocations.
_PARTS = {
    "mariadb": "GROUP_CONCAT(CONCAT(class_id, '=', used, ',') ORDER BY class_id SEPARATOR '')",
    "postgresql": "string_agg(class_id || '=' || used || ',', '' ORDER BY class_id)",
    "sqlite": "group_concat(class_id || '=' || used || ',', '')",
}
_HELD = (
    "SELECT consumer_id, resource_class_id AS class_id, SUM(used) AS used FROM allocations"
    " GROUP BY consumer_id, resource_class_id"
)


def upgrade() -> None:
    text = sa.String(500).with_variant(mysql.VARCHAR(500, charset="ascii", collation="ascii_bin"), "mysql", "mariadb")
    table = sa.inspect(op.get_bind())
    if "usages" not in {column["name"] for column in table.get_columns("consumers")}:  # a migrator may have been killed
        op.add_column("consumers", sa.Column("usages", text))
    _write()
    if _INDEX not in {index["name"] for index in table.get_indexes("consumers")}:
        op.create_index(_INDEX, "consumers", ["project_id", "user_id", "usages"])
    op.drop_index(_OLD_INDEX, "consumers")


def _write() -> None:
    dialect = op.get_bind().dialect.name
    texts = f"SELECT consumer_id, {_PARTS['mariadb' if dialect == 'mysql' else dialect]} AS parts FROM ({_HELD})"
    if dialect in ("mysql", "mariadb"):
        own = "CONCAT(COALESCE(consumers.consumer_type, ''), ':', own.parts)"
        op.execute(
            f"UPDATE consumers JOIN ({texts} AS held GROUP BY consumer_id) AS own ON own.consumer_id = consumers.id"
            f" SET usages = IF(CHAR_LENGTH({own}) <= 500, {own}, NULL)"
        )
        return
    own = "COALESCE(consumers.consumer_type, '') || ':' || own.parts"
    op.execute(
        f"UPDATE consumers SET usages = CASE WHEN length({own}) <= 500 THEN {own} END"
        f" FROM ({texts} AS held GROUP BY consumer_id) AS own WHERE own.consumer_id = consumers.id"
    )


def downgrade() -> None:
    op.create_index(_OLD_INDEX, "consumers", ["project_id", "user_id"])
    op.drop_index(_INDEX, "consumers")
    op.drop_column("consumers", "usages")
