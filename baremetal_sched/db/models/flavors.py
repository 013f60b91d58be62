"""Flavors and key pairs of servers."""

from typing import Any

from sqlalchemy import Boolean, Double, ForeignKey, Integer, String, UniqueConstraint, true
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, Created, HasId, Timestamped, Versioned, table_args
from baremetal_sched.db.types import Json, LongText


class Flavor(HasId, Versioned, Timestamped, Base):
    """Resources and properties of servers. Memory and swap are in MiB, disks in GiB.

    ``flavorid`` is the id that clients know, any short text. ``extra_specs`` is an object of texts, in the order in
    which they were set.
    """

    __tablename__ = "flavors"

    flavorid: Mapped[str] = mapped_column(String(255), unique=True)
    name: Mapped[str] = mapped_column(String(255), unique=True)
    vcpus: Mapped[int] = mapped_column(Integer)
    memory_mb: Mapped[int] = mapped_column(Integer)
    root_gb: Mapped[int] = mapped_column(Integer)
    ephemeral_gb: Mapped[int] = mapped_column(Integer, server_default="0")
    swap_mb: Mapped[int] = mapped_column(Integer, server_default="0")
    rxtx_factor: Mapped[float] = mapped_column(Double, server_default="1")
    is_public: Mapped[bool] = mapped_column(Boolean, server_default=true(), index=True)
    description: Mapped[str | None] = mapped_column(LongText)
    extra_specs: Mapped[Any] = mapped_column(Json)


class FlavorProject(Created, Base):
    """A project that may use a private flavor."""

    __tablename__ = "flavor_projects"

    flavor_id: Mapped[int] = mapped_column(ForeignKey("flavors.id", ondelete="CASCADE"), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(255), primary_key=True, index=True)


class Keypair(HasId, Created, Base):
    """The public key of a user, by name. The private key is never stored."""

    __tablename__ = "keypairs"
    __table_args__ = table_args(UniqueConstraint("user_id", "name"))

    user_id: Mapped[str] = mapped_column(String(255))
    name: Mapped[str] = mapped_column(String(255))
    #: ``ssh`` or ``x509``.
    type: Mapped[str] = mapped_column(String(8))
    public_key: Mapped[str] = mapped_column(LongText)
    fingerprint: Mapped[str] = mapped_column(String(255))
