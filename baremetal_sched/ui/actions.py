"""The table of actions that pages propose: what each does, in words and as the request of an API."""

from collections.abc import Iterator
from functools import partial

from baremetal_sched.baremetal.api.policies import holds as hold_policies
from baremetal_sched.baremetal.api.resources.hold_actors import ME, nodes_by, target_of
from baremetal_sched.baremetal.holds.rules import TYPES
from baremetal_sched.placement.waiting_requests import ALLOCATION, CLAIM, SERVER
from baremetal_sched.scheduling.api import policies
from baremetal_sched.ui import action_bodies
from baremetal_sched.ui.action_bodies import Body
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.hold_owners import ALL
from baremetal_sched.ui.page_action import FormField, PageAction

_NODE = "/baremetal/v1/nodes/{0}"
_WEBHOOK = "/scheduling/v1/webhooks/{1}"
_HOLDS = "/scheduling/v1/nodes/{0}/holds"
_BOOKINGS = "/scheduling/v1/bookings"
_PROVISION_RULE = "baremetal:node:set_provision_state"
_POWER_RULE = "baremetal:node:set_power_state"


def _tried(result: Body) -> str:
    """Return what became of the event for a test."""
    return f"The receiver did not take it: {result['error']}" if result["error"] else "The receiver has taken it."


# -- the table ---------------------------------------------------------------------------------------------------------

#: The types of holds, the usual one first.
_TYPES = sorted(TYPES, key=lambda each: each != "operator_hold")
_REASON = FormField("reason", "Reason", hint="For people who look at the machine")
_WHOSE = FormField(
    "whose",
    "Which rows",
    "choice",
    options=((ME, "all except those that others hold"), (ALL, "all that are ticked")),
    of_many=True,
)
_STEPS = FormField("steps", "Steps", "steps", 'A list in JSON: [{"interface": "deploy", "step": "erase_devices"}]')

#: Verbs of the provision state: label, what will happen, the fields of the form.
_VERBS: dict[str, tuple[str, str, tuple[FormField, ...]]] = {
    "active": ("Deploy", "A conductor writes the image of the node's instance to the machine.", ()),
    "deleted": ("Undeploy", "The instance is removed from the machine, which is then cleaned. Its data is lost.", ()),
    "rebuild": ("Rebuild", "A conductor writes the image of the node's instance to the machine again.", ()),
    "manage": ("Manage", "The machine is not on offer from now on, until it is provided again.", ()),
    "provide": ("Provide", "The machine is cleaned, unless cleaning is off, and is on offer then.", ()),
    "inspect": ("Inspect", "The machine's hardware is inspected, for which it may be booted.", ()),
    "abort": ("Abort", "The operation under way ends, if the state of the node allows it.", ()),
    "clean": ("Clean", "The steps are run on the machine, which is manageable then.", (_STEPS,)),
    "adopt": ("Adopt", "The node becomes active as it is: what runs on the machine is left alone.", ()),
    "rescue": ("Rescue", "The machine boots a rescue system.", (FormField("password", "Password", "password"),)),
    "unrescue": ("Unrescue", "The machine boots the system of its instance again.", ()),
    "unhold": ("Unhold", "The operation that is held at a step continues.", ()),
    "service": ("Service", "The steps are run on the machine while its instance keeps it.", (_STEPS,)),
}


def _of_states() -> Iterator[tuple[str, PageAction]]:
    for verb, (label, sentence, fields) in _VERBS.items():
        body = partial(action_bodies.target, verb)
        path = {"": f"{_NODE}/states/provision"}
        done = f"Requested: {label.lower()}."
        stops = verb in ("deleted", "rebuild")
        yield verb, PageAction(label, sentence, done, "PUT", path, _PROVISION_RULE, fields, body, stops_servers=stops)
    for target in ("power on", "power off"):
        sentence = f"A conductor switches the power of the machine {target.removeprefix('power ')}."
        path = {"": f"{_NODE}/states/power"}
        body = partial(action_bodies.target, target)
        done = f"Requested: {target}."
        stops = target == "power off"
        label = target.capitalize()
        yield target, PageAction(label, sentence, done, "PUT", path, _POWER_RULE, (), body, stops_servers=stops)


ACTIONS: dict[str, PageAction] = {
    "hold": PageAction(
        "Hold",
        "From its start, the machine is not given out, and it is in maintenance until the hold ends or is released. "
        "With drain, maintenance begins when the machine has no consumer.",
        "It is held.",
        "POST",
        {"": _HOLDS},
        hold_policies.ADD,
        (
            FormField("type", "Type", "choice", options=tuple((each, each.replace("_", " ")) for each in _TYPES)),
            FormField("reason", "Reason", hint="For people who look at the machine", required=True),
            FormField("start", "From (UTC)", "datetime-local", "Empty: from now on, also for a window"),
            FormField("until", "Until (UTC)", "datetime-local", "Empty: until it is released"),
            FormField("drain", "Drain: begin when the machine has no consumer", "checkbox"),
            FormField(
                "deadline",
                "Drained at the latest (UTC)",
                "datetime-local",
                "It then begins in any case. Empty: no limit",
            ),
            FormField("ticket", "Ticket", hint="The member ticket of the hold's extra"),
        ),
        action_bodies.hold,
    ),
    "release": PageAction(
        "Release the hold",
        "The hold ends now. Other holds of the machine stay; without any, it leaves maintenance.",
        "The hold is released.",
        "DELETE",
        {"": _HOLDS + "/{1}"},
        hold_policies.REMOVE,
        (_WHOSE,),
        noun="hold",
    ),
    "maintenance on": PageAction(
        "Set maintenance",
        "The machine is not given out while it is in maintenance, and conductors leave its power alone.",
        "It is in maintenance.",
        "PUT",
        {"": f"{_NODE}/maintenance"},
        "baremetal:node:set_maintenance",
        (_REASON,),
        action_bodies.maintenance,
    ),
    "maintenance off": PageAction(
        "Unset maintenance",
        "Maintenance ends, a fault is cleared, and all holds of the machine are released. If one of them is not yours "
        "to release, nothing changes.",
        "Maintenance has ended.",
        "DELETE",
        {"": f"{_NODE}/maintenance"},
        "baremetal:node:clear_maintenance",
        (_WHOSE,),
    ),
    **dict(_of_states()),
    "cancel": PageAction(
        "Cancel the request",
        "It waits no longer, and loses its place. If it has a machine by then, it gives that back.",
        "It waits no longer.",
        "DELETE",
        {
            CLAIM: "/scheduling/v1/claims/{1}",
            ALLOCATION: "/baremetal/v1/allocations/{1}",
            SERVER: "/compute/v2.1/servers/{1}",
        },
        policies.DELETE_CLAIM,
        noun="request",
    ),
    "give back": PageAction(
        "Give back",
        "The claim ends, and all its machines are given back at once. Whoever waits for them may get them immediately.",
        "It has ended, and its machines are given back.",
        "DELETE",
        {"": "/scheduling/v1/claims/{0}"},
        policies.DELETE_CLAIM,
        noun="claim",
        stops_servers=True,
    ),
    "set end": PageAction(
        "Set the end",
        "Then the machine goes back by itself: a server is deleted, and what a claim has is undeployed, cleaned and "
        "released. Its data is lost.",
        "Its end is changed.",
        "PATCH",
        {"": "/scheduling/v1/claims/{0}", SERVER: "/scheduling/v1/claims/{1}"},
        policies.DELETE_CLAIM,
        (FormField("until", "Give back at (UTC)", "datetime-local", "Empty: no end; somebody gives it back"),),
        action_bodies.end,
        noun="claim",
    ),
    "test webhook": PageAction(
        "Test the webhook",
        "The receiver gets an event for a test, beside the queue. The page waits for its answer.",
        "It was sent.",
        "POST",
        {"webhook": f"{_WEBHOOK}/test"},
        policies.MANAGE_WEBHOOKS,
        outcome=_tried,
        noun="webhook",
    ),
    "resume webhook": PageAction(
        "Resume the webhook",
        "What comes after its cursor is sent from now on; of what has been deleted, nothing.",
        "It is resumed.",
        "POST",
        {"webhook": f"{_WEBHOOK}/resume"},
        policies.MANAGE_WEBHOOKS,
        noun="webhook",
    ),
    "book": PageAction(
        "Book",
        "Machines that are free for the whole time are kept for you: all or none.",
        "Booked.",
        "POST",
        {"": _BOOKINGS},
        policies.BOOK,
        (
            FormField("name", "Name"),
            FormField("start", "From (UTC)", "datetime-local", "Empty: from now on"),
            FormField("until", "Until (UTC)", "datetime-local"),
            FormField("hours", "Or for (hours)"),
        ),
        action_bodies.booking,
        noun="request",
    ),
    "change booking": PageAction(
        "Change the booking",
        "What is left empty stays. More machines, or another time, must be possible: otherwise nothing changes.",
        "It is changed.",
        "PATCH",
        {"": f"{_BOOKINGS}/{{0}}"},
        policies.CHANGE_BOOKING,
        (
            FormField("name", "Name"),
            FormField("start", "From (UTC)", "datetime-local", "Only before it has begun"),
            FormField("until", "Until (UTC)", "datetime-local", "What is claimed under it ends with it"),
            FormField("count", "How many machines", hint="With fewer, those that nobody has claimed are given up"),
        ),
        action_bodies.changed_booking,
        noun="booking",
    ),
    "cancel booking": PageAction(
        "Cancel the booking",
        "Its machines are free for others again. This is refused while anything is claimed under it.",
        "It is cancelled.",
        "DELETE",
        {"": f"{_BOOKINGS}/{{0}}"},
        policies.DELETE_BOOKING,
        noun="booking",
    ),
    "end booking": PageAction(
        "Cancel the booking and end its claims",
        "What is claimed under it goes back now: servers are deleted, and machines are undeployed, cleaned and "
        "released. Their data is lost.",
        "It is cancelled, and its machines are given back.",
        "DELETE",
        {"": f"{_BOOKINGS}/{{0}}?force=true"},
        policies.DELETE_BOOKING,
        noun="booking",
    ),
    "claim": PageAction(
        "Claim",
        "Free machines that fit become yours: all or none. If too few are free, the request waits as long as you say "
        "here.",
        "Claimed, or waiting for a machine.",
        "POST",
        {"": "/scheduling/v1/claims"},
        policies.CLAIM,
        (
            FormField("minutes", "If too few are free, wait for (minutes)", hint="Empty: do not wait"),
            FormField("until", "Give back at (UTC)", "datetime-local", "Then they go back by themselves"),
            FormField("hours", "Or give back after (hours)", hint="Both empty: somebody gives them back"),
            FormField("booking", "Under the booking", "choice"),
        ),
        action_bodies.claim,
        noun="request",
    ),
}

ACTIONS["hold domain"] = PageAction(
    "Hold the machines",
    "All machines of the domain, and of those below it, are held alike, up to 1,000. From now on they are not given "
    "out, and they are in maintenance until the hold ends or is released. With drain, that begins when a machine has "
    "no consumer.",
    "Its machines are held.",
    "POST",
    {"": "/scheduling/v1/holds"},
    hold_policies.ADD,
    (
        *ACTIONS["hold"].fields,
        FormField("skip_refused", "Hold the others if some are refused", "checkbox"),
    ),
    action_bodies.hold_domain,
    noun="domain",
)

#: The actions on nodes, in the order in which a list offers them.
OF_NODES = ("hold", "maintenance on", "maintenance off", *_VERBS, "power on", "power off")


def is_allowed(call: UiCall, name: str, owner: str | None, lessee: str | None) -> bool:
    """Return whether policy allows the caller the action on a node with this owner and lessee, as the API checks it."""
    return call.allows(ACTIONS[name].rule, target_of(call, owner, lessee))


def offers(call: UiCall, *names: str) -> list[tuple[str, str]]:
    """Return names and labels of the actions that policy allows the caller on some node."""
    return [(name, ACTIONS[name].label) for name in names if not nodes_by(call, ACTIONS[name].rule).is_nothing]
