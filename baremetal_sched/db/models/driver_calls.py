"""Driver calls that requests wait for."""

from typing import Any

from sqlalchemy import Double, ForeignKey, Index, String, false
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import MYSQL_TABLE, Base
from baremetal_sched.db.sealing import SealedJson


class DriverCall(Base):
    """A requested call of ``method`` of the driver of a node or a hardware type, made by ``conductor`` (a host name).

    It is made once, by the process that claimed it, and not begun after ``deadline``. ``work_id``: the work item for
    which the node is reserved meanwhile; None: it is not reserved. Times are seconds since 1970 by the clock of the
    database. ``reply`` is the driver's answer or error; None until then. The last three columns identify the requester,
    if known.
    """

    __tablename__ = "driver_calls"
    __table_args__ = (
        Index("ix_driver_calls_conductor", "conductor", "claimed_by"),
        Index("ix_driver_calls_node_id", "node_id"),
        {**MYSQL_TABLE, "sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    token: Mapped[str] = mapped_column(String(36), unique=True)
    node_id: Mapped[int | None] = mapped_column(ForeignKey("nodes.id", ondelete="CASCADE"))
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
    request_id: Mapped[str | None] = mapped_column(String(64))
    user_id: Mapped[str | None] = mapped_column(String(255))
    project_id: Mapped[str | None] = mapped_column(String(255))
