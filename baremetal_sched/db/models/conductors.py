"""Conductors, what they serve, and calls of drivers that they answer."""

from typing import Any

from sqlalchemy import Double, ForeignKey, Index, String, false
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import MYSQL_TABLE, Base, Created, HasId, Requested
from baremetal_sched.db.sealing import SealedJson
from baremetal_sched.db.types import Json


class Conductor(HasId, Created, Base):
    """A process that manages the nodes of one conductor group.

    It is alive while it is ``online`` and ``heartbeat_at`` (seconds since 1970 by the clock of the database) is younger
    than the heartbeat time-out.
    """

    __tablename__ = "conductors"

    hostname: Mapped[str] = mapped_column(String(255), unique=True)
    conductor_group: Mapped[str] = mapped_column(String(255), server_default="")
    online: Mapped[bool] = mapped_column(server_default=false())
    heartbeat_at: Mapped[float] = mapped_column(Double)
    #: By how many seconds the clock of its host was ahead of the database's at the last heartbeat.
    clock_difference: Mapped[float | None] = mapped_column(Double)
    #: The release to which it is pinned during a rolling upgrade.
    pin_release_version: Mapped[str | None] = mapped_column(String(32))
    #: Number of providers that it restored after a client had changed them.
    undone_changes: Mapped[int] = mapped_column(server_default="0")
    #: Number of driver calls that it has given up because the machine did not answer.
    given_up_calls: Mapped[int] = mapped_column(server_default="0")
    #: Machines that its sweeps gave to claims which waited beside them.
    swept_machines: Mapped[int] = mapped_column(server_default="0")


class ConductorHardwareType(Base):
    """Facts about a hardware type that the conductor serves: see ``baremetal.conductors.driver_facts``.

    ``offers``: the interfaces that nodes may have. ``facts``: driver properties, steps, vendor methods, RAID.
    """

    __tablename__ = "conductor_hardware_types"

    conductor_id: Mapped[int] = mapped_column(ForeignKey("conductors.id", ondelete="CASCADE"), primary_key=True)
    hardware_type: Mapped[str] = mapped_column(String(64), primary_key=True)
    offers: Mapped[dict[str, Any]] = mapped_column(Json)
    facts: Mapped[dict[str, Any]] = mapped_column(Json)


class ConductorInterface(Base):
    """A hardware type that a conductor serves, with one of the enabled interfaces."""

    __tablename__ = "conductor_interfaces"

    conductor_id: Mapped[int] = mapped_column(ForeignKey("conductors.id", ondelete="CASCADE"), primary_key=True)
    hardware_type: Mapped[str] = mapped_column(String(64), primary_key=True, index=True)
    interface_type: Mapped[str] = mapped_column(String(16), primary_key=True)
    interface_name: Mapped[str] = mapped_column(String(64), primary_key=True)
    is_default: Mapped[bool] = mapped_column(server_default=false())


class DriverCall(HasId, Requested, Base):
    """A requested call of ``method`` of the driver of a node or a hardware type, made by ``conductor`` (a host name).

    It is made once, by the process that claimed it, and not begun after ``deadline``. ``work_id``: the work item for
    which the node is reserved until then; None: it is not reserved. Times are seconds since 1970 by the clock of the
    database. ``reply`` is the driver's answer or error; None until then.
    """

    __tablename__ = "driver_calls"
    __table_args__ = (
        Index("ix_driver_calls_conductor", "conductor", "claimed_by"),
        {**MYSQL_TABLE, "sqlite_autoincrement": True},
    )

    token: Mapped[str] = mapped_column(String(36), unique=True)
    node_id: Mapped[int | None] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"), index=True)
    hardware_type: Mapped[str] = mapped_column(String(255))
    conductor: Mapped[str] = mapped_column(String(255))
    method: Mapped[str] = mapped_column(String(64))
    arguments: Mapped[Any] = mapped_column(SealedJson(whole=True))
    idempotent: Mapped[bool] = mapped_column(server_default=false())
    work_id: Mapped[int | None] = mapped_column()
    requested_at: Mapped[float] = mapped_column(Double)
    deadline: Mapped[float] = mapped_column(Double)
    claimed_by: Mapped[str | None] = mapped_column(String(36))
    reply: Mapped[Any | None] = mapped_column(SealedJson(whole=True))
