"""Sessions of people who are logged in to the pages."""

from sqlalchemy import Double, Index, String, UniqueConstraint, or_
from sqlalchemy.orm import Mapped, mapped_column

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models.base import Base, HasId, table_args
from baremetal_sched.db.sealing import SealedByItsWriter

#: Seconds without a request of the person after which a session ends.
IDLE_SECONDS = 3_600


class PageSession(HasId, Base):
    """A session of ``person``: the id of a user of Keystone, or the name of one in the file of users.

    ``digest``: the SHA-256 of the cookie, whose value is nowhere else than in the browser. ``form_token``: what every
    form of the session sends back. ``tokens``: Keystone's, sealed; NULL with the file of users. ``entry``: a digest of
    the user's entry in that file. ``is_fixed``: the scope cannot be changed. ``place``: the sessions of a person are
    numbered, so that there cannot be too many. All times are seconds since 1970 by the clock of the database.
    """

    __tablename__ = "page_sessions"
    __table_args__ = table_args(
        UniqueConstraint("person", "place", name="uq_page_sessions_person"),
        Index("ix_page_sessions_expires_at", "expires_at"),
    )

    digest: Mapped[str] = mapped_column(String(64), unique=True)
    person: Mapped[str] = mapped_column(String(255))
    place: Mapped[int]
    form_token: Mapped[str] = mapped_column(String(64))
    tokens: Mapped[str | None] = mapped_column(SealedByItsWriter)
    entry: Mapped[str | None] = mapped_column(String(64))
    is_fixed: Mapped[bool]
    created_at: Mapped[float] = mapped_column(Double)
    used_at: Mapped[float] = mapped_column(Double)
    expires_at: Mapped[float] = mapped_column(Double)


#: Whether a session is over.
IS_OVER = or_(PageSession.expires_at <= epoch(), PageSession.used_at <= epoch() - IDLE_SECONDS)
