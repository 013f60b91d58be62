"""Flavors and key pairs of servers."""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, DateTime, Double, ForeignKey, Index, Integer, String, UniqueConstraint, true
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, table_args
from baremetal_sched.db.types import Json, LongText


class Flavor(Base):
    """Resources and properties of servers. Memory and swap are in MiB, disks in GiB.

    ``flavorid`` is the id that clients know, any short text. ``extra_specs`` is an object of texts, in the order in
    which they were set. ``revision`` grows with every change.
    """

    __tablename__ = "flavors"
    __table_args__ = table_args(Index("ix_flavors_is_public", "is_public"))

    id: Mapped[int] = mapped_column(primary_key=True)
    flavorid: Mapped[str] = mapped_column(String(255), unique=True)
    name: Mapped[str] = mapped_column(String(255), unique=True)
    vcpus: Mapped[int] = mapped_column(Integer)
    memory_mb: Mapped[int] = mapped_column(Integer)
    root_gb: Mapped[int] = mapped_column(Integer)
    ephemeral_gb: Mapped[int] = mapped_column(Integer, server_default="0")
    swap_mb: Mapped[int] = mapped_column(Integer, server_default="0")
    rxtx_factor: Mapped[float] = mapped_column(Double, server_default="1")
    is_public: Mapped[bool] = mapped_column(Boolean, server_default=true())
    description: Mapped[str | None] = mapped_column(LongText)
    extra_specs: Mapped[Any] = mapped_column(Json)
    revision: Mapped[int] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(DateTime)
    updated_at: Mapped[datetime | None] = mapped_column(DateTime)

    __mapper_args__ = {"version_id_col": revision}


class FlavorProject(Base):
    """A project that may use a private flavor."""

    __tablename__ = "flavor_projects"
    __table_args__ = table_args(Index("ix_flavor_projects_project_id", "project_id"))

    flavor_id: Mapped[int] = mapped_column(ForeignKey("flavors.id", ondelete="CASCADE"), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(255), primary_key=True)
    created_at: Mapped[datetime] = mapped_column(DateTime)


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
