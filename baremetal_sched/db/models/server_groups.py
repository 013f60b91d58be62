"""Server groups of the compute API, and their members."""

from sqlalchemy import ForeignKey, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, HasUuid, Timestamped, Versioned


class ServerGroup(HasUuid, Versioned, Timestamped, Base):
    """Servers that are to be apart, or together (``policy``). ``max_server_per_host``: the most servers in one domain;
    NULL: not given. Every boot of a member increments the revision, also on a cluster whose servers do not see each
    other's locks."""

    __tablename__ = "server_groups"

    name: Mapped[str] = mapped_column(String(255))
    project_id: Mapped[str] = mapped_column(String(255), index=True)
    user_id: Mapped[str] = mapped_column(String(255))
    policy: Mapped[str] = mapped_column(String(32))
    max_server_per_host: Mapped[int | None] = mapped_column(Integer)


class ServerGroupMember(Base):
    """A server in a group: in at most one."""

    __tablename__ = "server_group_members"

    server_id: Mapped[int] = mapped_column(ForeignKey("servers.id", ondelete="CASCADE"), primary_key=True)
    group_id: Mapped[int] = mapped_column(ForeignKey("server_groups.id", ondelete="CASCADE"), index=True)
