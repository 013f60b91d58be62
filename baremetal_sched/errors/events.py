"""Errors of the events of the scheduling API."""

from baremetal_sched import commands
from baremetal_sched.errors import ConflictError, GoneError, UnavailableError


class EventsGone(GoneError):
    """``oldest``: the cursor from which everything that is left can be read."""

    template = (
        "Events after the cursor {cursor} can no longer be read: {reason}. Read the lists again; the oldest events "
        "that can be read are those after {oldest}."
    )


class EventsNotServed(UnavailableError):
    """There would be gaps between the events."""

    template = (
        "Events cannot be read while a release before this one may serve the database, because that release writes "
        f"none. When all its processes have ended, run: {commands.FINISH_UPGRADE}"
    )


class PrefixesNotServed(UnavailableError):
    """An older conductor finds no event of such a type, and moves the cursor of the webhook past all events."""

    template = (
        "A webhook cannot select types by a prefix while a release before this one may serve the database, because "
        "that release does not know prefixes. When all its processes have ended, run: "
        f"{commands.FINISH_UPGRADE}"
    )


class EventsDisabled(ConflictError):
    template = "This service writes no events: [events] enabled is false. An operator can set it to true."
