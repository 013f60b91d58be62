"""Errors of the domain, with messages for people. They know nothing of HTTP; each API maps them to its own errors.

The base classes are the kinds of errors, which is often all that an API needs to map; the subclasses are specific.
"""

from typing import Any

from baremetal_sched import commands


class SchedulerError(Exception):
    """Base of all errors. ``template`` is filled with the keyword arguments, which are kept in ``details``.

    Without a template of its own, an error gets its whole text as ``message``.
    """

    template = "{message}"

    def __init__(self, **details: Any) -> None:
        self.details = details
        super().__init__(self.template.format(**details))


class NotFoundError(SchedulerError):
    """A resource that the request names does not exist."""


class ConflictError(SchedulerError):
    """The request is valid, but the current state does not allow it."""


class InvalidError(SchedulerError):
    """The request is invalid in every state."""


class ForbiddenError(SchedulerError):
    """The operation is not allowed, for this caller or at all."""


class GoneError(SchedulerError):
    """It was there, and has gone."""


class UnavailableError(SchedulerError):
    """The operation is temporarily impossible; the client can try again soon."""


class DriverFailed(SchedulerError):
    """A driver raised an unexpected exception, which is a bug of the driver."""

    template = "The driver of the node failed unexpectedly: {reason}"


class AnswerTimeout(SchedulerError):
    """An external system did not answer in time. It may have done what was requested, or may still do it.

    If the operation was certainly not begun, raise an UnavailableError instead, after which clients try again.
    """

    template = (
        "The request was not answered in time. It may have been completed, or may still be in progress: "
        "check before you ask again."
    )


# -- the database -----------------------------------------------------------------------------------------------------


class DatabaseAway(UnavailableError):
    """Base of all errors of an unavailable database. ``state`` is its name in the health report."""

    template = "The database cannot be reached. Try again in a moment."
    state = "away"


class CommitUnknown(DatabaseAway):
    template = (
        "The connection to the database was lost before it confirmed the change. Check whether it was made; if not, "
        "try again."
    )


class TransactionEnded(DatabaseAway):
    template = (
        "The database ended the transaction, which was idle for longer than [database] idle_transaction_timeout. "
        "Try again in a moment."
    )
    state = "ended the transaction"


class StatementInterrupted(DatabaseAway):
    template = "The database interrupted the request. Try again in a moment."
    state = "interrupted"


class DatabaseTimeout(DatabaseAway):
    template = "The database did not answer within the time limit of a request. Try again in a moment."
    state = "timeout"


class LockTimeout(DatabaseAway):
    template = "Another database session held a lock that the request needs. Try again in a moment."
    state = "locked"


class PoolExhausted(DatabaseAway):
    template = (
        "All connections to the database are in use. Try again in a moment; if that lasts, raise "
        "[database] max_pool_size or max_overflow."
    )
    state = "no connection free"


class DatabaseFull(DatabaseAway):
    template = "The database has no space left, so nothing can be written. Free space on the disk that holds it."
    state = "full"


class DatabaseReadOnly(DatabaseAway):
    template = "The database is read-only. Point [database] connection at the primary, or make the database writable."
    state = "read-only"


class DatabaseOverloaded(DatabaseAway):
    template = (
        "The database has no capacity left for this service: too many connections, or too little memory. "
        "Raise the server's or the user's limit, or lower [database] max_pool_size and max_overflow."
    )
    state = "overloaded"


class DatabaseMissing(DatabaseAway):
    template = (
        "The database that [database] connection names does not exist on the server. Correct the name, or create "
        f"it (CREATE DATABASE) and run: {commands.UPGRADE_DATABASE}"
    )
    state = "missing"


class DatabaseLoginRefused(DatabaseAway):
    template = (
        "The database server refused the login. Check user and password in [database] connection, and whether the "
        "server lets this host in (pg_hba.conf; GRANT; FLUSH HOSTS if it blocked the host)."
    )
    state = "login refused"


class DatabaseDenied(DatabaseAway):
    template = (
        "The database user lacks privileges. GRANT it the privileges that the guide to production lists, on all tables."
    )
    state = "denied"


class DatabaseEmpty(DatabaseAway):
    template = f"The database has no tables of this service. Run: {commands.UPGRADE_DATABASE}"
    state = "empty"


class DatabaseHostUnknown(DatabaseAway):
    template = (
        "The host that [database] connection names has no address. Correct its name, or enter it where this host "
        "looks names up (DNS, /etc/hosts)."
    )
    state = "host unknown"


class DatabaseFileUnusable(DatabaseAway):
    template = (
        "The file that [database] connection names cannot be opened. Its directory must exist, and the user of this "
        "process must be allowed to write to both."
    )
    state = "file unusable"


class DatabaseCorrupt(DatabaseAway):
    template = "The file that [database] connection names is damaged, or is not an SQLite database. Restore a backup."
    state = "corrupt"


class DriverMissing(SchedulerError):
    template = "The Python package {package}, which {name} needs, is not installed. Run: pip install '{package}'"


class TooManyConflicts(UnavailableError):
    template = "The request lost {attempts} races against others for the same rows. Try again in a moment."


class TooManyWaiting(UnavailableError):
    template = (
        "Nothing was done, because {limit} requests wait for machines and locked nodes already, which is the limit. "
        "Try again in a moment."
    )


class LastingConflict(SchedulerError):
    """A change that fails however often it is tried; not a race, which would soon be over."""

    template = (
        "The result could not be recorded in {rounds} rounds of attempts, because something else has a key that it "
        "needs. The log of the conductor says which."
    )


class SchemaNotServed(UnavailableError):
    """This release cannot serve the current schema of the database."""


class SchemaTooNew(SchemaNotServed):
    template = (
        "The database is at schema {found}, which this release does not know; its newest is {known}. "
        "Run a newer release of baremetal-sched, or restore a backup from before the upgrade."
    )


class SchemaChanging(SchemaNotServed):
    template = (
        "The schema of the database is being changed from {found} to {target}, which this release cannot serve; its "
        "newest is {known}. Run the release of that schema. If the change was broken off, repeat it with that release: "
        f"{commands.UPGRADE_DATABASE}"
    )


class SchemaBusy(UnavailableError):
    template = (
        "A change of the schema waited {seconds} seconds for a lock that another transaction holds, and gave up. Stop "
        "what keeps the database busy, then run the same command again: it continues where it stopped."
    )


class SchemaTooOld(SchemaNotServed):
    template = "The database is at schema {found}; this release needs {known}. Run: " + commands.UPGRADE_DATABASE


class IsMirror(UnavailableError):
    template = (
        "Nothing can be changed here yet: this database is a mirror of the services that are being moved from, which "
        f"are still in charge. Ask them, or finish the move with: {commands.FINISH_IMPORT}"
    )


class SecretsUnreadable(SchedulerError):
    """Stored secrets were encrypted with a key that this process does not have."""

    template = "The stored secrets cannot be decrypted: {reason}."


# -- values -----------------------------------------------------------------------------------------------------------


class InvalidValue(InvalidError):
    """A value is invalid; the caller supplies the message."""


class DocumentTooLarge(InvalidError):
    template = (
        "The document has {size} bytes as JSON, all fields together; at most {limit} can be stored. "
        "Make it smaller, or keep large data elsewhere and store a link."
    )


class PacketTooLarge(InvalidError):
    template = (
        "This is more than the database takes at once. Make the document smaller; the operator can raise "
        "max_allowed_packet of the server to 16M."
    )


# -- callers ----------------------------------------------------------------------------------------------------------


class NotAuthenticated(SchedulerError):
    template = "The request you have made requires authentication."


class AuthenticationUnavailable(UnavailableError):
    """Credentials cannot be checked at present."""

    template = "Your credentials cannot be checked now: {reason}. Try again later."


class NotAllowed(ForbiddenError):
    template = "Policy does not allow {policy} to be performed."


class WrongScope(ForbiddenError):
    template = "{policy}"
