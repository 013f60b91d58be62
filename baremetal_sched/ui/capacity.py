"""/capacity: how many machines are free, by resource class and conductor group, and by the domains of a level."""

from typing import Any

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.baremetal.api.hold_readers import reader
from baremetal_sched.baremetal.api.nodes.node_filters import TRAIT_FILTERS
from baremetal_sched.baremetal.domains.domain_list import count_inside
from baremetal_sched.errors import InvalidValue
from baremetal_sched.scheduling import capacity
from baremetal_sched.scheduling.api.capacity import filters_of, require_levels, row_of, visible_to
from baremetal_sched.scheduling.api.policies import DOMAINS
from baremetal_sched.scheduling.capacity import DOMAIN, Figures
from baremetal_sched.scheduling.schemas.answers import CAPACITY_ROW
from baremetal_sched.ui import exports
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import DEFAULT_GROUP, submitted, without
from baremetal_sched.ui.pictures.heat_map import LEVELS, Addresses, Cell, Grid, grid, heat_map
from baremetal_sched.ui.rendering import page, url_of
from baremetal_sched.web.http_errors import message_of

#: The number of rows of the table; the others are counted.
MOST_ROWS = 300

NO_CLASS = "(none)"

_KEYS = ("resource_class", "conductor_group")
PARAMETERS = ("level", *_KEYS, "driver", "owner", "domain", *TRAIT_FILTERS)


def show_capacity(call: UiCall, connection: Connection) -> Response:
    """GET /capacity"""
    visible = visible_to(call)
    wanted = exports.format_of(call)
    query = submitted(call, PARAMETERS)
    try:
        filters, level = filters_of(connection, query, visible), query.text("level")
        require_levels(call, connection, [] if level is None else [DOMAIN + level], visible)
        found = capacity.measure(connection, _KEYS, filters, visible)
        capacity.name_holds(connection, found, filters, visible, reader(call).conditions)
        by_domain = [] if level is None else capacity.measure(connection, [DOMAIN + level], filters, visible)
        if wanted:
            capacity.name_holds(connection, by_domain, filters, visible, reader(call).conditions)
    except InvalidValue as error:
        return _page(call, [], 400, everything=visible.everything, complaint=message_of(error))
    if wanted:
        keys = _KEYS if level is None else [DOMAIN + level]
        columns = exports.members(wanted, CAPACITY_ROW, [*keys, *CAPACITY_ROW["required"]])
        rows = map(row_of, found if level is None else by_domain)
        return exports.export(call, wanted, "capacity", columns, rows)
    domains: dict[str, Any] = {
        "levels_of_domains": list(count_inside(connection, visible)) if call.allows(DOMAINS) else [],
        "level": level,
        # That of machines in no domain comes first.
        "by_domain": [(each.keys[f"{DOMAIN}{level}"], each) for each in by_domain[:MOST_ROWS]],
        "more_domains": max(0, len(by_domain) - MOST_ROWS),
    }
    return _page(call, found, everything=visible.everything, **domains)


def _page(call: UiCall, figures: list[Figures], status: int = 200, **values: Any) -> Response:
    table = _grid(figures)
    rows = sorted(figures, key=lambda each: -each.total)
    title = "Free machines of all, by resource class (rows) and conductor group (columns)"
    return page(
        call,
        "capacity.html",
        status,
        given=dict(call.query),
        filters=without(call.query, "level"),
        rows=rows[:MOST_ROWS],
        more=max(0, len(rows) - MOST_ROWS),
        free=sum(each.free for each in figures),
        total=sum(each.total for each in figures),
        picture=heat_map("capacity", title, table, _addresses(call)) if figures else None,
        left_out=table.left_out,
        levels=LEVELS,
        default_group=DEFAULT_GROUP,
        no_class=NO_CLASS,
        **{"complaint": None, "level": None, **values},
    )


def _addresses(call: UiCall) -> Addresses:
    """Return links of the picture's cells: to the nodes of the class and conductor group, with the page's filters."""
    url, filters = url_of(call.mount), without(call.query, "level")

    def address(resource_class: str, group: str) -> str | None:
        if resource_class == NO_CLASS:
            return None
        return url("nodes", query={**filters, "resource_class": resource_class, "conductor_group": group})

    return address


def _grid(figures: list[Figures]) -> Grid:
    return grid(
        {
            (each.keys["resource_class"] or NO_CLASS, each.keys["conductor_group"] or DEFAULT_GROUP): Cell(
                each.free, each.total
            )
            for each in figures
        }
    )
