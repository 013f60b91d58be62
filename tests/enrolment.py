"""Nodes as rows: what enrolling one by requests leaves in the database, in one transaction.

``tests/database/test_enrolment.py`` compares both ways.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors.ownership import live_members
from baremetal_sched.baremetal.nodes import nodes, traits
from baremetal_sched.db.clock import utcnow
from baremetal_sched.machines import states
from baremetal_sched.settings import Settings

if TYPE_CHECKING:
    from tests.service import Service

#: Fields that a request stores as they are. A node with others is enrolled by requests.
PLAIN_FIELDS = frozenset(
    {"conductor_group", "description", "driver_info", "extra", "lessee", "owner", "properties", "shard"}
)


def enrol(
    session: Session, settings: Settings, values: Mapping[str, Any], names_of_traits: Sequence[str], *, power: bool
) -> str:
    """Enter an available node; return its UUID. With ``power`` its power is on.

    Raises the errors of the domain: NoValidHost if no conductor serves it.
    """
    node = nodes.create(
        session,
        {"driver": "fake-hardware", **values, **(_switched_on() if power else {})},
        initial_state=states.AVAILABLE,
        membership=live_members(session, settings),
        settings=settings,
    )
    if names_of_traits:
        traits.replace_traits(session, node, names_of_traits)
    node.updated_at = utcnow()
    return node.uuid


def _switched_on() -> dict[str, Any]:
    """The record of a conductor that has switched a node on."""
    changed_at = utcnow().isoformat(timespec="microseconds")
    return {"power_state": states.POWER_ON, "driver_internal_info": {"last_power_state_change": changed_at}}


def by_requests(service: "Service", values: Mapping[str, Any], names_of_traits: Sequence[str], *, power: bool) -> str:
    """Enrol a node as clients below 1.11 do, for whom it is available at once; return its UUID."""
    body = {"driver": "fake-hardware", "name": values["name"]}
    uuid: str = service.baremetal("POST", "/nodes", body, version="1.10").json["uuid"]
    changes = {field: value for field, value in values.items() if field != "name"}
    if changes["resource_class"] is None:
        del changes["resource_class"]
    if changes:
        service.patch(uuid, *(("add", f"/{field}", value) for field, value in changes.items()))
    if names_of_traits:
        service.baremetal("PUT", f"/nodes/{uuid}/traits", {"traits": list(names_of_traits)})
    if power:
        service.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"})
        service.work()
    return uuid
