"""Proposals for names of classes and groups that no machine has."""

from difflib import get_close_matches

from keystoneauth1.exceptions import ClientException as NoAnswer
from osc_lib.exceptions import CommandError

from baremetal_sched.osc.client import Client
from baremetal_sched.osc.query import placement_class

_TEXTS = {
    "resource_class": "No machine has the resource class {!r}.",
    "conductor_group": "No machine is in the conductor group {!r}.",
}


def about_unknown(client: Client, resource_class: str | None = None, conductor_group: str | None = None) -> str:
    """Return sentences about those of the names that no machine has, with similar names; "" if there is nothing to say
    or the service has no scheduling API."""
    given = {"resource_class": resource_class, "conductor_group": conductor_group}
    return " ".join(filter(None, (_about(client, key, name) for key, name in given.items() if name)))


def _about(client: Client, key: str, name: str) -> str:
    try:
        rows = client.get("scheduling", "/capacity", [("group_by", key)])["capacity"]
    except (CommandError, NoAnswer):
        return ""
    known = [row[key] for row in rows if row[key]]
    if name in known:
        return ""
    text = _TEXTS[key].format(name)
    for other in known if key == "resource_class" else ():
        if placement_class(other) == name.upper():
            return f"{text} {name} is what placement calls the class {other!r}. Did you mean {other!r}?"
    close = get_close_matches(name.lower(), known, n=1)
    return f"{text} Did you mean {close[0]!r}?" if close else f"{text} There are: {', '.join(sorted(known)[:10])}."
