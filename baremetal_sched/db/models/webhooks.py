"""Webhooks: receivers to which events are sent, and how far each of them is."""

from typing import Any

from sqlalchemy import BigInteger, Double, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.models.base import Base, Created, HasId, HasUuid, table_args
from baremetal_sched.db.sealing import SealedText
from baremetal_sched.db.types import Json


class WebhookTest(HasId, Base):
    """The last delivery for a test that was asked for in a project (empty: in none).

    ``token`` identifies it, and is the id of its event. A conductor takes it until ``begins_before``, and writes the
    ``answer``. ``asked``: when the last tests of the project were asked for. Times are seconds since 1970 by the clock
    of the database.
    """

    __tablename__ = "webhook_tests"
    __table_args__ = table_args()

    project: Mapped[str] = mapped_column(String(255), unique=True)
    token: Mapped[str] = mapped_column(String(36))
    webhook_id: Mapped[int]
    asked: Mapped[list[float]] = mapped_column(Json)
    begins_before: Mapped[float] = mapped_column(Double)
    is_taken: Mapped[bool]
    answer: Mapped[dict[str, object] | None] = mapped_column(Json)


class Webhook(HasUuid, Created, Base):
    """A receiver of events: the events of ``types`` about ``nodes`` (UUIDs) that its maker may read; empty: all.
    ``domain`` (a UUID): only of nodes that are in it when they are read.

    ``project`` is that of the maker, empty for one without a project; ``place`` numbers the webhooks of a project, so
    that there cannot be too many. ``maker``: the maker's credentials, without secrets. ``previous_secret`` signs, too,
    until ``previous_until``.

    ``number`` is the cursor: the last event of the ``stream`` that was delivered, or left out by the filter; ``mark``
    tells it from another event that has the number after a failover (see ``Cursor``; None: it has none). Only the
    conductor that knows the newest ``fence`` moves it; no other begins before ``leased_until``. ``failures``: attempts
    since the last success; ``failing_since``: the first of these; ``retry_at``: no attempt before. ``parked``: nothing
    is delivered until the webhook is resumed, for the reason in ``last_error``. ``last_seconds``: how long the last
    attempt took (None: unknown). ``attempts``: the last ones to this URL, the newest first. All times, except the
    creation, are seconds since 1970 by the clock of the database.
    """

    __tablename__ = "webhooks"
    __table_args__ = table_args(
        UniqueConstraint("project", "place", name="uq_webhooks_project_place"),
        UniqueConstraint("project", "name", name="uq_webhooks_project_name"),
    )

    project: Mapped[str] = mapped_column(String(255))
    place: Mapped[int]
    name: Mapped[str | None] = mapped_column(String(255))
    url: Mapped[str] = mapped_column(SealedText(whole=True))
    types: Mapped[list[str]] = mapped_column(Json)
    nodes: Mapped[list[str]] = mapped_column(Json)
    domain: Mapped[str | None] = mapped_column(String(36))
    secret: Mapped[str] = mapped_column(SealedText(whole=True))
    previous_secret: Mapped[str | None] = mapped_column(SealedText(whole=True))
    previous_until: Mapped[float | None] = mapped_column(Double)
    maker: Mapped[Any] = mapped_column(Json)
    parked: Mapped[bool]
    stream: Mapped[str] = mapped_column(String(36))
    number: Mapped[int] = mapped_column(BigInteger)
    mark: Mapped[str | None] = mapped_column(String(8))
    fence: Mapped[int]
    leased_until: Mapped[float] = mapped_column(Double)
    retry_at: Mapped[float] = mapped_column(Double)
    failures: Mapped[int]
    failing_since: Mapped[float | None] = mapped_column(Double)
    last_status: Mapped[int | None]
    last_error: Mapped[str | None] = mapped_column(String(255))
    last_seconds: Mapped[float | None] = mapped_column(Double)
    attempts: Mapped[list[dict[str, object]] | None] = mapped_column(Json)
