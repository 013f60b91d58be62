"""Errors of the scheduling API: claims that wait, and claims of several machines."""

from baremetal_sched import commands
from baremetal_sched.errors import ConflictError, InvalidError, InvalidValue, NotFoundError, UnavailableError


class ClaimNotFound(NotFoundError):
    template = "There is no claim {claim}."


class ClaimDiffers(ConflictError):
    """The consumer's UUID is the idempotency key: the same body is the same claim."""

    template = "Claim {claim} exists, and was made with another body. Use a new UUID for a new claim."


class ConsumerInUse(ConflictError):
    template = "Consumer {consumer} has allocations already: release them, or use a new UUID."


class UuidTaken(ConflictError):
    template = "The UUID {uuid} belongs to something else. Use a new UUID."


class ClaimElsewhere(ConflictError):
    """It is an allocation or a server."""

    template = "The UUID {claim} is that of the {kind}: delete the {kind} instead."


class NothingFree(ConflictError):
    """No machine fits now, and the request does not wait. ``reason`` is a sentence."""

    template = "{reason}"


class NeverFits(ConflictError):
    """No machine could ever fit as things are."""

    template = (
        "{reason} Waiting is refused, because no machine would fit even if all were free; even_if_impossible allows it."
    )


class FitUnknown(UnavailableError):
    """It is not known whether any machine could ever fit. ``reason`` is a sentence."""

    template = (
        "Nothing is free, and it is unknown whether any machine could fit: {reason} Try again, or set "
        "even_if_impossible to wait all the same."
    )


class CannotWait(InvalidError):
    """The request does not name the machines that it waits for."""


class MachinesShare(InvalidValue):
    template = (
        "Several machines are claimed at once only if each has all that the request needs, and nothing that providers "
        "share."
    )


class CannotBegin(ConflictError):
    """The deployment of a server cannot begin on this node, which others may have."""

    template = "{reason}"


class TooManyWaitingClaims(ConflictError):
    template = "Project {project} has {limit} claims that wait, which is the limit ([scheduling] most_waiting)."


class WaitingNotServed(UnavailableError):
    template = (
        "Nothing can wait while a release before this one may serve the database, because that release hands no "
        f"machine over. When all its processes have ended, run: {commands.FINISH_UPGRADE}"
    )


class EndsNotServed(UnavailableError):
    template = (
        "Nothing can have an end while a release before this one may serve the database, because that release ends "
        f"nothing. When all its processes have ended, run: {commands.FINISH_UPGRADE}"
    )


class EndsTooSoon(InvalidValue):
    """A request that waits stops waiting some time before its end."""

    template = (
        "The request cannot wait: its end, {end}, is too near, as nobody gets a machine for less than {shortest} s "
        "([scheduling] shortest_claim). Ask without waiting, or for a later end."
    )


class OthersWait(ConflictError):
    """``number``: how many requests wait."""

    template = (
        "The end cannot be moved later while others wait for this machine ([scheduling] prolong_while_others_wait). "
        "Waiting requests: {number}. You can set an earlier end."
    )


class ClaimIsOver(ConflictError):
    template = "Claim {claim} is {state}, so its end cannot be changed."


class HasEnded(ConflictError):
    template = "{consumer} has ended, and its end can no longer be changed: its machine is being given back."


class HasNoEnd(ConflictError):
    """Claimed through the placement API, by a client that does not know ends. One can have passed to it."""

    template = (
        "The end of {consumer} cannot be set: it was claimed through the placement API. Those of claims of the "
        "scheduling API, servers and bare metal allocations can."
    )


class GroupsNotServed(UnavailableError):
    template = (
        "Several machines cannot be claimed at once while a release before this one may serve the database, because "
        f"that release knows no machine groups. When all its processes have ended, run: {commands.FINISH_UPGRADE}"
    )


class GroupDiffers(ConflictError):
    """The first claim of a machine group says how its machines are spread."""

    template = "Machine group {group} is {rules}. Leave spread and pack out, or name another machine group."


class BookingNotFound(NotFoundError):
    template = "There is no booking {booking}."


class BookingsNotServed(UnavailableError):
    template = (
        "Nothing can be booked while a release before this one may serve the database, because that release knows no "
        f"bookings. When all its processes have ended, run: {commands.FINISH_UPGRADE}"
    )


class NotBookable(ConflictError):
    """``reason``: what is short, and what could be booked instead."""

    template = "It cannot be booked. {reason}"


class BookingLimit(ConflictError):
    """``limit``: the option of ``[scheduling]``."""

    template = "{reason} ([scheduling] {limit})"


class BookingInUse(ConflictError):
    """``number``: how many claims are under it."""

    template = (
        "Booking {booking} is in use; claims under it: {number}. Release them first, or cancel it with force=true, "
        "which ends them."
    )


class BookingIsOver(ConflictError):
    template = "Booking {booking} is over."


class BookingDiffers(ConflictError):
    template = "Booking {booking} exists already, and was made by another request. Give another UUID."


class BookingNotRunning(ConflictError):
    """``when``: a sentence."""

    template = "Nothing can be claimed under booking {booking} now. {when}"


class BookedNext(ConflictError):
    """``latest``: the last moment possible."""

    template = "The end cannot be later than {latest}, because the machine is booked after that."
