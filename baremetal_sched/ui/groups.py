"""/groups: the conductor groups, and the rings of one."""

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.errors import NotFoundError
from baremetal_sched.scheduling import groups
from baremetal_sched.scheduling.api.groups import document_of, visible_to
from baremetal_sched.scheduling.groups import Ring
from baremetal_sched.scheduling.schemas.answers import GROUP
from baremetal_sched.ui import exports
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.pictures import ring as pictures
from baremetal_sched.ui.pictures.ring import RingMember
from baremetal_sched.ui.rendering import page

#: The number of groups, of rings of a group, and of conductors of a ring on a page; the others are counted.
MOST_GROUPS = 200
MOST_RINGS = 10
MOST_CONDUCTORS = 200

#: The name in addresses of the group without a name. No group can have it for a name.
DEFAULT = "(default)"


class GroupNotFound(NotFoundError):
    """No node is in the conductor group, and no conductor."""

    template = "There is no conductor group '{name}': no conductors and no nodes are in it."


def list_groups(call: UiCall, connection: Connection) -> Response:
    """GET /groups. Raises InvalidValue for an unknown format."""
    wanted = exports.format_of(call)
    call.refuse_query()
    visible = visible_to(call)
    found = groups.list_groups(
        connection, call.settings, visible, with_owners=visible.everything and wanted is not None
    )
    if wanted:
        columns = exports.members(wanted, GROUP, None if visible.everything else GROUP["required"])
        documents = (document_of(each, with_hosts=visible.everything) for each in found)
        return exports.export(call, wanted, "groups", columns, documents)
    return page(
        call,
        "groups.html",
        everything=visible.everything,
        groups=found[:MOST_GROUPS],
        more=max(0, len(found) - MOST_GROUPS),
        default=DEFAULT,
    )


def show_group(call: UiCall, connection: Connection, name: str) -> Response:
    """GET /groups/{name}. Raises GroupNotFound."""
    call.refuse_query()
    visible = visible_to(call)
    group_name = "" if name == DEFAULT else name
    found = groups.list_groups(connection, call.settings, visible, group=group_name, with_owners=visible.everything)
    if not found:
        raise GroupNotFound(name=name)
    (group,) = found
    # The largest rings are what people look for.
    rings = sorted(group.rings, key=lambda each: (-each.nodes, each.driver))
    pictured = [(each, _members(each)) for each in rings[:MOST_RINGS]] if visible.everything else []
    return page(
        call,
        "group.html",
        everything=visible.everything,
        group=group,
        rings=[
            (
                each,
                members[:MOST_CONDUCTORS],
                len(members[MOST_CONDUCTORS:]),
                _picture(place, group.name, each, members),
            )
            for place, (each, members) in enumerate(pictured)
        ],
        more=len(rings) - len(pictured) if visible.everything else 0,
    )


def _members(ring: Ring) -> list[RingMember]:
    arcs = dict.fromkeys(ring.alive | ring.dead, 0.0)
    for arc in ring.arcs_if_all_lived():
        arcs[arc.member] += arc.end - arc.start
    return [
        RingMember(host, host in ring.alive, ring.owned.get(host, 0), share, arcs[host])
        for host, share in ring.shares().items()
    ]


def _picture(place: int, group: str, ring: Ring, members: list[RingMember]) -> str:
    title = f"Ring of the driver {ring.driver} in the conductor group {group or DEFAULT}"
    return pictures.ring(f"ring-{place}", title, members, ring.nodes)
