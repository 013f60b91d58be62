"""What a release needs to know about a schema newer than itself."""

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base


class SchemaState(Base):
    """One row: the schema's revision, and which releases can serve it. See ``baremetal_sched.db.schema_state``."""

    __tablename__ = "schema_state"

    id: Mapped[int] = mapped_column(primary_key=True)
    revision: Mapped[str | None] = mapped_column(String(32))
    served_since: Mapped[str] = mapped_column(String(32))
    changing_to: Mapped[str | None] = mapped_column(String(32))
