"""How long a process waits for its database: requests not for long, commands as long as it takes."""

from dataclasses import dataclass

from baremetal_sched.settings import Settings

#: How long a transaction of a conductor may take: it has no client that waits, but must not hang for ever.
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
    """The limits of processes that answer requests."""
    request: float = settings.api.request_timeout
    return Limits(transaction=request, statement=request, lock=settings.database.lock_timeout)
