"""The pages of the navigation, as a caller can use them: a tab that policy refuses says who can use it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.errors import NotAllowed, WrongScope
from baremetal_sched.scheduling.api import policies
from baremetal_sched.scheduling.api.holds import seen_by
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.log_ins import KeystoneLogIns

#: The pages of the navigation in their order: path and label.
NAVIGATION = (
    ("/", "Fleet"),
    ("/nodes", "Nodes"),
    ("/capacity", "Capacity"),
    ("/domains", "Domains"),
    ("/find", "Find"),
    ("/waiting", "Waiting"),
    ("/claims", "Claims"),
    ("/bookings", "Bookings"),
    ("/calendar", "Calendar"),
    ("/holds", "Holds"),
    ("/events", "Events"),
    ("/webhooks", "Webhooks"),
    ("/groups", "Groups"),
    ("/servers", "Servers"),
    ("/allocations", "Allocations"),
    ("/flavors", "Flavors"),
    ("/images", "Images"),
)
#: Those that are in the menu at the end, so that the header is one row.
IN_MENU = frozenset({"/calendar", "/webhooks", "/groups", "/allocations", "/flavors", "/images"})


#: Those about what belongs to projects only, and those that readers and members do not have.
_OF_PROJECTS = frozenset({"/servers", "/images"})
_OF_ADMINISTRATORS = frozenset({"/webhooks"})


@dataclass(frozen=True)
class Tab:
    """A page of the navigation. ``hint``: who can use it, if the caller cannot; ``can_choose``: whether the caller can
    act for another project instead. ``is_more``: whether it is in the menu at the end."""

    label: str
    address: str
    hint: str = ""
    can_choose: bool = False
    is_more: bool = False


def _lists_nodes(call: UiCall) -> object:
    return call.listed("node")


def _of(rule: str) -> Callable[[UiCall], object]:
    return lambda call: call.require(rule)


#: What raises NotAllowed or WrongScope for callers whom the page refuses. Pages that refuse nobody are missing.
_CHECKS: Mapping[str, Callable[[UiCall], object]] = {
    "/": _lists_nodes,
    "/nodes": _lists_nodes,
    "/capacity": _of(policies.CAPACITY),
    "/domains": _of(policies.DOMAINS),
    "/find": _of(policies.EXPLAIN),
    "/waiting": _of(policies.GET_CLAIM),
    "/claims": _of(policies.GET_CLAIM),
    "/bookings": _of(policies.GET_BOOKING),
    "/calendar": _of(policies.CAPACITY),
    "/holds": seen_by,
    "/events": _of(policies.EVENTS),
    "/webhooks": _of(policies.MANAGE_WEBHOOKS),
    "/servers": lambda call: call.compute.require(name_of("servers", "index")),
    "/groups": _of(policies.GROUPS),
    "/allocations": lambda call: call.listed("allocation"),
    "/images": lambda call: call.image.require("get_images"),
}


def tabs_of(call: UiCall | None, mount: str) -> Iterator[Tab]:
    """Yield the tabs; None: the request is for no page."""
    for path, label in NAVIGATION:
        hint = "" if call is None else hint_of(call, path)
        yield Tab(label, mount + path, hint, bool(hint) and can_choose(call), path in IN_MENU)


def hint_of(call: UiCall, path: str) -> str:
    """Return who can use the page, if policy refuses it to the caller; empty if it does not, and for strangers."""
    check = _CHECKS.get(path)
    if check is None or call.known_caller is None:
        return ""
    try:
        check(call)
    except (NotAllowed, WrongScope):
        return _hint(call, path)
    return ""


def _hint(call: UiCall, path: str) -> str:
    if call.known_scope is None:
        return "This page is for people who act for a project, or for the system. You act for neither yet."
    if path in _OF_ADMINISTRATORS:
        return "This page is for administrators of a project, or of the system."
    if path in _OF_PROJECTS and call.caller.project_id is None:
        return "This page is for people who act for a project. You act for the system."
    return f"Policy does not show this page to your roles for {call.known_scope}."


def can_choose(call: UiCall | None) -> bool:
    """Return whether the caller can act for another project in this session."""
    return (
        call is not None
        and call.row is not None
        and not call.row.is_fixed
        and isinstance(call.page_access.log_ins, KeystoneLogIns)
    )
