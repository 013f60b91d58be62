"""/capacity: how many machines are free, by resource class and conductor group, and by the domains of a level."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.baremetal.api.hold_readers import reader
from baremetal_sched.baremetal.api.nodes.node_filters import TRAIT_FILTERS
from baremetal_sched.baremetal.domains import domain_list
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.errors import InvalidValue
from baremetal_sched.scheduling import capacity
from baremetal_sched.scheduling.api.capacity import filters_of, require_levels, row_of, visible_to
from baremetal_sched.scheduling.api.policies import DOMAINS
from baremetal_sched.scheduling.capacity import DOMAIN, Figures
from baremetal_sched.scheduling.schemas.answers import CAPACITY_ROW
from baremetal_sched.ui import exports
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import DEFAULT_GROUP, submitted, without
from baremetal_sched.ui.pictures.heat_map import LEVELS, MOST_COLUMNS, Addresses, Cell, Grid, grid, heat_map
from baremetal_sched.ui.rendering import page, url_of
from baremetal_sched.web.http_errors import message_of

#: The number of rows of the table; the others are counted.
MOST_ROWS = 300

NO_CLASS = "(none)"

_KEYS = ["resource_class", "conductor_group"]
PARAMETERS = ("level", *_KEYS, "driver", "owner", "domain", *TRAIT_FILTERS)


@dataclass(frozen=True)
class CapacityMap:
    """A picture of figures by class and something else: its title, its cells, and where these lead."""

    title: str
    grid: Grid
    address: Addresses


def show_capacity(call: UiCall, connection: Connection) -> Response:
    """GET /capacity"""
    visible = call.leading_to(visible_to(call))
    wanted = exports.format_of(call)
    query = submitted(call, PARAMETERS)
    try:
        filters, level = filters_of(connection, query, visible), query.text("level")
        require_levels(call, connection, [] if level is None else [DOMAIN + level], visible)
        keys = _KEYS if level is None else [DOMAIN + level]
        if wanted:
            found = capacity.measure(connection, call.settings, keys, filters, visible)
            capacity.name_holds(connection, found, filters, visible, reader(call).conditions)
            columns = exports.members(wanted, CAPACITY_ROW, [*keys, *CAPACITY_ROW["required"]])
            return exports.export(call, wanted, "capacity", columns, map(row_of, found))
        found = capacity.measure(connection, call.settings, _KEYS, filters, visible)
        capacity.name_holds(connection, found, filters, visible, reader(call).conditions)
        by_domain = [] if level is None else capacity.measure(connection, call.settings, keys, filters, visible)
        mapped = [] if level is None else _mapped(call, connection, level, by_domain, filters, visible)
    except InvalidValue as error:
        return _page(call, [], 400, everything=visible.everything, complaint=message_of(error))
    domains: dict[str, Any] = {
        "levels_of_domains": list(domain_list.count_inside(connection, visible)) if call.allows(DOMAINS) else [],
    }
    if level is not None:
        domains |= {
            "level": level,
            # That of machines in no domain comes first.
            "by_domain": [(each.keys[DOMAIN + level], each) for each in by_domain[:MOST_ROWS]],
            "more_domains": max(0, len(by_domain) - MOST_ROWS),
            "map_of": _map_by_level(call, level, mapped, max(0, len(by_domain) - MOST_COLUMNS)),
        }
    return _page(call, found, everything=visible.everything, **domains)


def _mapped(
    call: UiCall,
    connection: Connection,
    level: str,
    by_domain: list[Figures],
    filters: NodeFilters,
    visible: Visibility,
) -> list[Figures]:
    """Return the figures by class of the domains that have room in the picture, those with the most machines."""
    key = DOMAIN + level
    largest = sorted(by_domain, key=lambda each: (-each.total, each.keys[key] or ""))[:MOST_COLUMNS]
    names = [each.keys[key] for each in largest]
    narrowed = NodeFilters([*filters.conditions, domain_list.is_in_one(level, names)])
    return capacity.measure(connection, call.settings, [_KEYS[0], key], narrowed, visible)


def _page(
    call: UiCall, figures: list[Figures], status: int = 200, *, map_of: CapacityMap | None = None, **values: Any
) -> Response:
    rows = sorted(figures, key=lambda each: -each.total)
    shown = map_of or _map_by_group(call, figures)
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
        picture=heat_map("capacity", shown.title, shown.grid, shown.address) if figures else None,
        left_out=shown.grid.left_out,
        levels=LEVELS,
        default_group=DEFAULT_GROUP,
        no_class=NO_CLASS,
        **{"complaint": None, "level": None, "levels_of_domains": [], **values},
    )


def _map_by_group(call: UiCall, figures: list[Figures]) -> CapacityMap:
    cells = {(_class_of(each), each.keys["conductor_group"] or DEFAULT_GROUP): _cell(each) for each in figures}
    title = "Free machines of all, by resource class (rows) and conductor group (columns)"
    return CapacityMap(title, grid(cells), _addresses(call, lambda group: {"conductor_group": group}))


def _map_by_level(call: UiCall, level: str, figures: list[Figures], more: int) -> CapacityMap:
    """The picture by class and domain, of which there are ``more``. Links keep the domains of the page's filter."""
    key, others = DOMAIN + level, [value for name, value in call.query if name == "domain"]
    named = {each.keys[key] for each in figures}
    none = f"in no {level}"
    while none in named:
        none = f"({none})"
    cells = {(_class_of(each), none if each.keys[key] is None else each.keys[key]): _cell(each) for each in figures}
    title = f"Free machines of all, by resource class (rows) and {level} (columns)"

    def parameters(column: str) -> dict[str, Any]:
        return {"domain": [*others, f"{level}:{'' if column == none else column}"]}

    return CapacityMap(title, replace(grid(cells), more_columns=more), _addresses(call, parameters))


def _class_of(figures: Figures) -> str:
    return figures.keys["resource_class"] or NO_CLASS


def _cell(figures: Figures) -> Cell:
    return Cell(figures.free, figures.total)


def _addresses(call: UiCall, parameters: Callable[[str], dict[str, Any]]) -> Addresses:
    """Return links of the picture's cells: to the nodes of the class and the column, with the page's filters."""
    url, filters = url_of(call.mount), without(call.query, "level")

    def address(resource_class: str, column: str) -> str | None:
        if resource_class == NO_CLASS:
            return None
        return url("nodes", query={**filters, "resource_class": resource_class, **parameters(column)})

    return address
