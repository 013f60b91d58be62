"""Time limits of database access: short for requests, none for commands."""

from dataclasses import dataclass

from baremetal_sched.settings import Settings

#: Seconds that a conductor's transaction may take: no client waits for it, but it must not hang for ever.
_CONDUCTOR_TRANSACTION = 300


@dataclass(frozen=True)
class Limits:
    """Seconds; None: no limit.

    ``transaction`` bounds a transaction with all its attempts, ``statement`` each statement on the server, ``lock``
    the wait for a lock.
    """

    transaction: float | None = None
    statement: float | None = None
    lock: float | None = None


#: Commands and migrations.
NONE = Limits()

#: Conductors.
CONDUCTOR = Limits(transaction=_CONDUCTOR_TRANSACTION)


def for_requests(settings: Settings) -> Limits:
    """Return the limits of processes that answer requests."""
    request: float = settings.api.request_timeout
    return Limits(transaction=request, statement=request, lock=settings.database.lock_timeout)
