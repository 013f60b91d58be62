"""The domain's errors: what went wrong, in words for a person. No HTTP here; each API maps these to its own.

The base classes say what kind of trouble it is, and an API may map just those; the rest say which.
"""

from typing import Any


class SchedulerError(Exception):
    """Base of all. ``template`` is filled with the keyword arguments, which stay available in ``details``."""

    template = "Something went wrong."

    def __init__(self, **details: Any) -> None:
        self.details = details
        super().__init__(self.template.format(**details))


class NotFoundError(SchedulerError):
    """A thing that the request names is not there."""


class ConflictError(SchedulerError):
    """The request is sound, but the state of things does not allow it now."""


class InvalidError(SchedulerError):
    """The request makes no sense, whatever the state of things."""


class ForbiddenError(SchedulerError):
    """Not allowed to this caller, or at all."""


class UnavailableError(SchedulerError):
    """Cannot be done right now; worth another try soon."""


# -- the database -----------------------------------------------------------------------------------------------------


class DatabaseAway(UnavailableError):
    template = "The database cannot be reached. Try again in a moment."


class CommitUnknown(DatabaseAway):
    template = "The database went away before it confirmed the change. Look whether it was made, and try again if not."


class TooManyConflicts(UnavailableError):
    template = "The request lost {attempts} races against others for the same rows. Try again in a moment."


class LastingConflict(SchedulerError):
    """A change that cannot be made, however often it is tried: no race, and so nothing that is over soon."""

    template = "What was done could not be written down, in {rounds} rounds of attempts: {reason}"


class SchemaTooNew(SchedulerError):
    template = (
        "The database is at schema {found}, which this release does not know; its newest is {known}. "
        "Run a newer release of baremetal-sched, or restore a backup from before the upgrade."
    )


class SchemaTooOld(SchedulerError):
    template = "The database is at schema {found}; this release needs {known}. Run: baremetal-sched db upgrade"


# -- values -----------------------------------------------------------------------------------------------------------


class InvalidValue(InvalidError):
    """A value that is wrong by itself; the caller says how."""

    template = "{message}"


# -- callers ----------------------------------------------------------------------------------------------------------


class NotAuthenticated(SchedulerError):
    template = "The request you have made requires authentication."


class NotAllowed(ForbiddenError):
    template = "Policy does not allow {policy} to be performed."


class WrongScope(ForbiddenError):
    template = "{policy}"
