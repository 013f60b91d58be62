"""Operations on nodes by rule: deploy templates, runbooks and inspection rules."""

from typing import Any

from sqlalchemy import ForeignKey, Index, Integer, String, false
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, HasUuid, Timestamped, Versioned, table_args
from baremetal_sched.db.sealing import SealedJson
from baremetal_sched.db.types import Json


class InspectionRule(HasUuid, Versioned, Timestamped, Base):
    """If all ``conditions`` hold, the ``actions`` are run. Rules of a phase are ordered by descending ``priority``."""

    __tablename__ = "inspection_rules"
    __table_args__ = table_args(Index("ix_inspection_rules_phase", "phase", "priority"))

    description: Mapped[str | None] = mapped_column(String(255))
    phase: Mapped[str] = mapped_column(String(16), server_default="main")
    priority: Mapped[int] = mapped_column(Integer, server_default="0")
    sensitive: Mapped[bool] = mapped_column(server_default=false())
    conditions: Mapped[Any] = mapped_column(Json)
    actions: Mapped[Any] = mapped_column(Json)


class DeployTemplate(HasUuid, Versioned, Timestamped, Base):
    """Steps of deployments that require the trait ``name``."""

    __tablename__ = "deploy_templates"

    name: Mapped[str] = mapped_column(String(255), unique=True)
    description: Mapped[str | None] = mapped_column(String(255))
    steps: Mapped[Any] = mapped_column(SealedJson)
    extra: Mapped[Any | None] = mapped_column(Json)


class Runbook(HasUuid, Versioned, Timestamped, Base):
    """Steps of cleaning or servicing, for nodes with one of its traits."""

    __tablename__ = "runbooks"

    name: Mapped[str] = mapped_column(String(255), unique=True)
    description: Mapped[str | None] = mapped_column(String(255))
    steps: Mapped[Any] = mapped_column(SealedJson)
    disable_ramdisk: Mapped[bool] = mapped_column(server_default=false())
    extra: Mapped[Any | None] = mapped_column(Json)
    public: Mapped[bool] = mapped_column(server_default=false())
    owner: Mapped[str | None] = mapped_column(String(255), index=True)


class RunbookTrait(Base):
    """A trait that allows the runbook on a node."""

    __tablename__ = "runbook_traits"

    runbook_id: Mapped[int] = mapped_column(ForeignKey("runbooks.id", ondelete="CASCADE"), primary_key=True)
    trait: Mapped[str] = mapped_column(String(255), primary_key=True)
