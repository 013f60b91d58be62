"""The types of the events of consumers: machines that they get and give back, and requests that wait."""

from functools import partial

from baremetal_sched.db.event_types import NODE_COLUMNS, EventType

#: An earlier release wrote the state of the node as well, and so does this one while that may read it.
_of_machine = partial(EventType, subject="node", members=("uuid", "name", "consumer"), optional=NODE_COLUMNS[1:])
MACHINE_CLAIMED = _of_machine("scheduling.machine.claimed", "A consumer has got the node, through any API.")
MACHINE_RELEASED = _of_machine("scheduling.machine.released", "A consumer has given the node back, or has lost it.")

#: States of events only: a claim that was given back, and one that left the queue before it was decided.
RELEASED = "released"
WITHDRAWN = "withdrawn"

#: The types of what becomes of a claim, by its state.
OF_STATES = {
    state: EventType(f"scheduling.claim.{state}", sentence, "claim", ("claim", "consumer"))
    for state, sentence in {
        "waiting": "A claim, an allocation or a server (``kind``) waits for a machine.",
        "claimed": "The claim, allocation or server has got its machine.",
        "timed_out": "It has waited until its deadline, and got no machine.",
        "failed": "It can get no machine, for the ``reason``.",
        WITHDRAWN: "It was deleted while it waited.",
        RELEASED: "It was deleted after it had got its machine.",
    }.items()
}
#: The types of what becomes of the end of a claim.
_of_end = partial(EventType, subject="claim", members=("claim", "consumer", "end"))
ENDS_SOON = _of_end(
    "scheduling.claim.ends_soon", "The machine of a claim, an allocation or a server (``kind``) is given back soon."
)
LATE = _of_end(
    "scheduling.claim.late", "The end has come, and the machine cannot be given back yet, for the ``reason``."
)
ENDED = _of_end("scheduling.claim.ended", "The machine was given back at its end.")

#: The types of what becomes of a booking.
OF_BOOKINGS = {
    state: EventType(f"scheduling.booking.{state}", sentence, "booking", ("booking",))
    for state, sentence in {
        "created": "Machines were booked.",
        "changed": "Its times, its number or its machines have changed: ``came`` and ``went`` name the machines.",
        "short": "It lacks machines, and no others can be had: ``short_by`` says how many.",
        "filled": "It was short, and has all its machines again.",
        "ends_soon": "It is running, and ends soon.",
        "over": "It has ended.",
        "deleted": "It was cancelled.",
    }.items()
}

EVENT_TYPES = (
    *(MACHINE_CLAIMED, MACHINE_RELEASED, *OF_STATES.values(), ENDS_SOON, LATE, ENDED),
    *OF_BOOKINGS.values(),
)

#: The columns that the events of claims tell.
OF_CLAIM = (
    *("uuid", "kind", "resource_class", "priority", "asked_at", "deadline"),
    *("consumer_project", "consumer_user"),
)
