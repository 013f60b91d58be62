"""Inspection rules: actions on the results of inspections."""

from datetime import datetime
from typing import Any

from sqlalchemy import DateTime, Index, Integer, String, false
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, table_args
from baremetal_sched.db.types import Json


class InspectionRule(Base):
    """If all ``conditions`` hold, the ``actions`` are run. Rules of a phase are ordered by descending ``priority``."""

    __tablename__ = "inspection_rules"
    __table_args__ = table_args(Index("ix_inspection_rules_phase", "phase", "priority"))

    id: Mapped[int] = mapped_column(primary_key=True)
    uuid: Mapped[str] = mapped_column(String(36), unique=True)
    description: Mapped[str | None] = mapped_column(String(255))
    phase: Mapped[str] = mapped_column(String(16), server_default="main")
    priority: Mapped[int] = mapped_column(Integer, server_default="0")
    sensitive: Mapped[bool] = mapped_column(server_default=false())
    conditions: Mapped[Any] = mapped_column(Json)
    actions: Mapped[Any] = mapped_column(Json)
    revision: Mapped[int] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(DateTime)
    updated_at: Mapped[datetime | None] = mapped_column(DateTime)

    __mapper_args__ = {"version_id_col": revision}
