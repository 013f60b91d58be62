"""Parts that models share: names of constraints, options of tables on MariaDB, columns. And the row about the
schema."""

from datetime import datetime
from typing import Any, cast

from sqlalchemy import DateTime, Double, Integer, MetaData, String, Table, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, declared_attr, mapped_column

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


class HasId:
    """A row with a number of its own, which only this service knows."""

    id: Mapped[int] = mapped_column(primary_key=True, sort_order=-2)


class HasUuid(HasId):
    """A row that clients know by its UUID."""

    uuid: Mapped[str] = mapped_column(String(36), unique=True, sort_order=-1)


class Created:
    """A row with the time of its creation."""

    created_at: Mapped[datetime] = mapped_column(DateTime)


class Timestamped(Created):
    """A row with the times of its creation and of its last change (NULL: never changed)."""

    updated_at: Mapped[datetime | None] = mapped_column(DateTime)


class Versioned:
    """A row whose ``revision`` grows with every change: an update of a row that has changed since matches nothing,
    and the transaction is retried."""

    revision: Mapped[int] = mapped_column(Integer)

    @declared_attr.directive
    @classmethod
    def __mapper_args__(cls) -> dict[str, Any]:
        return {"version_id_col": cls.revision}


class Requested:
    """A row with the identity of the requester, as far as it is known."""

    request_id: Mapped[str | None] = mapped_column(String(64))
    user_id: Mapped[str | None] = mapped_column(String(255))
    project_id: Mapped[str | None] = mapped_column(String(255))


class SchemaState(HasId, Base):
    """One row: the schema's revision, and which releases can serve it; and whether the database is a mirror. See
    ``baremetal_sched.db.schema_state`` and ``mirror``."""

    __tablename__ = "schema_state"

    revision: Mapped[str | None] = mapped_column(String(32))
    served_since: Mapped[str] = mapped_column(String(32))
    changing_to: Mapped[str | None] = mapped_column(String(32))
    mirror_of: Mapped[str | None] = mapped_column(Text)
    mirror_phase: Mapped[str | None] = mapped_column(String(16))
    mirror_until: Mapped[float | None] = mapped_column(Double)
