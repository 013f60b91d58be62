"""Network ports of nodes, and groups of them."""

from typing import Any

from sqlalchemy import ForeignKey, String, false, true
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, HasUuid, Timestamped
from baremetal_sched.db.types import Json


class Portgroup(HasUuid, Timestamped, Base):
    """Several ports of a node that are used as one."""

    __tablename__ = "portgroups"

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), index=True)
    name: Mapped[str | None] = mapped_column(String(255), unique=True)
    address: Mapped[str | None] = mapped_column(String(18), unique=True)
    mode: Mapped[str] = mapped_column(String(255))
    properties: Mapped[Any | None] = mapped_column(Json)
    extra: Mapped[Any | None] = mapped_column(Json)
    internal_info: Mapped[Any | None] = mapped_column(Json)
    standalone_ports_supported: Mapped[bool] = mapped_column(server_default=true())
    physical_network: Mapped[str | None] = mapped_column(String(64))
    category: Mapped[str | None] = mapped_column(String(80))
    dynamic_portgroup: Mapped[bool] = mapped_column(server_default=false())


class Port(HasUuid, Timestamped, Base):
    """A network port of a node, identified by its MAC address."""

    __tablename__ = "ports"

    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), index=True)
    #: No cascade: a portgroup with ports cannot be removed.
    portgroup_id: Mapped[int | None] = mapped_column(ForeignKey("portgroups.id"), index=True)
    address: Mapped[str] = mapped_column(String(18), unique=True)
    name: Mapped[str | None] = mapped_column(String(255), unique=True)
    description: Mapped[str | None] = mapped_column(String(255))
    extra: Mapped[Any | None] = mapped_column(Json)
    internal_info: Mapped[Any | None] = mapped_column(Json)
    local_link_connection: Mapped[Any | None] = mapped_column(Json)
    pxe_enabled: Mapped[bool] = mapped_column(server_default=true())
    physical_network: Mapped[str | None] = mapped_column(String(64))
    is_smartnic: Mapped[bool] = mapped_column(server_default=false())
    vendor: Mapped[str | None] = mapped_column(String(32))
    category: Mapped[str | None] = mapped_column(String(80))
    available_for_dynamic_portgroup: Mapped[bool] = mapped_column(server_default=true())
