"""Key pairs, of which only the public key is stored."""

from datetime import datetime

from sqlalchemy import DateTime, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, table_args
from baremetal_sched.db.types import LongText


class Keypair(Base):
    """The public key of a user, by name. The private key is never stored."""

    __tablename__ = "keypairs"
    __table_args__ = table_args(UniqueConstraint("user_id", "name"))

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(String(255))
    name: Mapped[str] = mapped_column(String(255))
    #: ``ssh`` or ``x509``.
    type: Mapped[str] = mapped_column(String(8))
    public_key: Mapped[str] = mapped_column(LongText)
    fingerprint: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(DateTime)
