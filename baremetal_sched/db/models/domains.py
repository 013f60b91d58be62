"""Domains: machines that share a rack, a row, a switch; and their members."""

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, HasUuid, Timestamped, Versioned, table_args


class Domain(HasUuid, Versioned, Timestamped, Base):
    """A set of nodes that share something: ``level`` is the kind, such as ``rack``. It is the aggregate with its UUID.

    Names are unique within a level. ``from_property``: the property of nodes that it was made from. Every change of
    ``parent_id``, and every domain that is made below it, increments the revision.
    """

    __tablename__ = "domains"
    __table_args__ = table_args(UniqueConstraint("level", "name", name="uq_domains_level"))

    name: Mapped[str] = mapped_column(String(255))
    level: Mapped[str] = mapped_column(String(64))
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("domains.id"), index=True)
    from_property: Mapped[str | None] = mapped_column(String(255))


class DomainMember(Base):
    """A node in a domain: at most one of each level. ``level`` is that of the domain; ``set_by`` says who put it there:
    ``person`` or ``property``."""

    __tablename__ = "domain_members"
    __table_args__ = table_args(Index("ix_domain_members_domain_id", "domain_id", "node_id"))

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), primary_key=True)
    level: Mapped[str] = mapped_column(String(64), primary_key=True)
    domain_id: Mapped[int] = mapped_column(ForeignKey("domains.id"))
    set_by: Mapped[str] = mapped_column(String(16))
