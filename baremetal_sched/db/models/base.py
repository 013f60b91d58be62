"""What all models share: names of constraints, options of tables on MariaDB; and the row about the schema."""

from typing import Any, cast

from sqlalchemy import MetaData, String, Table
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

#: Byte-wise comparison, as in SQLite and PostgreSQL: "n1" and "N1" are different names everywhere.
MYSQL_TABLE: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
}


class Base(DeclarativeBase):
    """Base of every model."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    __table_args__: Any = MYSQL_TABLE


def table_args(*items: Any) -> tuple[Any, ...]:
    """Return ``__table_args__`` of a model with its own constraints or indexes."""
    return (*items, MYSQL_TABLE)


def table_of(model: type[Base]) -> Table:
    """Return the table of a model: statements on it bypass the ORM, which is twice as fast."""
    return cast(Table, model.__table__)


class SchemaState(Base):
    """One row: the schema's revision, and which releases can serve it. See ``baremetal_sched.db.schema_state``."""

    __tablename__ = "schema_state"

    id: Mapped[int] = mapped_column(primary_key=True)
    revision: Mapped[str | None] = mapped_column(String(32))
    served_since: Mapped[str] = mapped_column(String(32))
    changing_to: Mapped[str | None] = mapped_column(String(32))
