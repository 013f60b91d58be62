"""Network ports of nodes, and groups of them."""

from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, ForeignKey, Index, String, false, true
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, table_args
from baremetal_sched.db.types import Json


class Portgroup(Base):
    """Several ports of a node that are used as one."""

    __tablename__ = "portgroups"
    __table_args__ = table_args(Index("ix_portgroups_node_id", "node_id"))

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(String(36), unique=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
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
    created_at: Mapped[datetime] = mapped_column(DateTime)
    updated_at: Mapped[datetime | None] = mapped_column(DateTime)


class Port(Base):
    """A network port of a node, identified by its MAC address."""

    __tablename__ = "ports"
    __table_args__ = table_args(
        Index("ix_ports_node_id", "node_id"),
        Index("ix_ports_portgroup_id", "portgroup_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(String(36), unique=True)
    node_id: Mapped[int] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
    #: No cascade: a portgroup with ports cannot be removed.
    portgroup_id: Mapped[int | None] = mapped_column(ForeignKey("portgroups.id"))
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
    created_at: Mapped[datetime] = mapped_column(DateTime)
    updated_at: Mapped[datetime | None] = mapped_column(DateTime)
