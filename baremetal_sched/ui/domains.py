"""/domains: racks, rows and other domains, each with a picture of its machines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.policies.domains import seen_among
from baremetal_sched.baremetal.domains import domain_list, naming
from baremetal_sched.baremetal.provider.availability import ALLOCATED, BOOKED, MAINTENANCE, PLANNED
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Domain
from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.db.types import selecting
from baremetal_sched.errors import InvalidValue
from baremetal_sched.scheduling import capacity
from baremetal_sched.scheduling.api.capacity import visible_to
from baremetal_sched.scheduling.api.domains import document_of
from baremetal_sched.scheduling.api.policies import CAPACITY, MANAGE_DOMAINS
from baremetal_sched.scheduling.capacity import Figures
from baremetal_sched.scheduling.schemas.domains import DOMAIN
from baremetal_sched.ui import exports
from baremetal_sched.ui.actions import offers
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import FormQuery, submitted, without
from baremetal_sched.ui.node_rows import FAILED_STATES, FREE
from baremetal_sched.ui.paging import MARKERS, ListPage, Place, active_filters, of_rows, place_of
from baremetal_sched.ui.pictures.marks import KINDS, MarkGroup, marks
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.http_errors import message_of

#: The number of domains on a page.
MOST_DOMAINS = 50

_FILTERS = ("level", "parent")
PARAMETERS = (*_FILTERS, "limit", *MARKERS)
_HOLDING = "hold domain"


@dataclass(frozen=True)
class DomainBox:
    """A domain on the page: its names by LEVEL:NAME and of the one above it, the groups of its machines by state with
    the words by which the list of nodes finds them, and their picture. ``has_below``: domains are below it."""

    uuid: str
    level: str
    name: str
    parent: str | None
    total: int
    groups: list[MarkGroup]
    picture: str
    has_below: bool

    @property
    def path(self) -> str:
        """Return the domain as filters name it."""
        return f"{self.level}:{self.name}"


def show_domains(call: UiCall, session: Session) -> Response:
    """GET /domains. Raises NotAllowed."""
    call.require(CAPACITY)
    visible = call.leading_to(visible_to(call))
    seen_among(call, visible)
    wanted = exports.format_of(call)
    query = submitted(call, PARAMETERS)
    try:
        conditions = _conditions(session, query, visible)
        place = place_of(query, (), most=exports.MOST if wanted else MOST_DOMAINS)
        rows = domain_list.select_domains(session, conditions, _page_of(place), visible)
    except InvalidValue as error:
        return _page(call, session, ListPage(()), 400, visible=visible, complaint=message_of(error))
    if wanted:
        columns = exports.members(wanted, DOMAIN)
        return exports.export(call, wanted, "domains", columns, (document_of(call, *row) for row in rows), place.limit)
    found = of_rows(place, [domain for domain, _, _ in rows], domain_list.count(session, conditions, visible))
    return _page(call, session, found, visible=visible, complaint=None)


def _conditions(session: Session, query: FormQuery, visible: Visibility) -> dict[str, str]:
    """Return the filters, as ``select_domains`` takes them. Raises InvalidValue."""
    level, parent, seen = query.text("level"), query.text("parent"), visible.conditions()
    found: dict[str, str] = {}
    if level is not None:
        naming.require_levels(session, [level], seen)
        found["level"] = level
    if parent is not None:
        found["parent"] = naming.find(session, parent, seen).uuid
    return found


def _page_of(place: Place) -> Page:
    """Return the rows to read, by level and name; see ``Place.page``."""
    turned = place.before is not None
    sort = (SortKey("level", turned), SortKey("name", turned))
    return Page(place.limit + 1, place.before or place.after, sort)


def _page(
    call: UiCall, session: Session, found: ListPage, status: int = 200, *, visible: Visibility, **values: Any
) -> Response:
    levels = naming.levels(session, visible.conditions())
    return page(
        call,
        "domains.html",
        status,
        found=found,
        boxes=_boxes(session, found.rows, visible) if found.rows else [],
        given=dict(call.query),
        kept=without(call.query, *MARKERS),
        active=active_filters(call),
        levels=[("", "any"), *((each, each) for each in levels)],
        everything=visible.everything,
        manages=call.allows(MANAGE_DOMAINS),
        holding=_HOLDING if offers(call, _HOLDING) else None,
        **values,
    )


def _boxes(session: Session, domains: Any, visible: Visibility) -> list[DomainBox]:
    ids = [each.id for each in domains]
    figures = capacity.measure_domains(selecting(session), ids, visible)
    parents = domain_list.names_of(session, {each.parent_id for each in domains if each.parent_id is not None})
    above = domain_list.with_domains_below(session, ids, visible)
    return [_box(each, figures.get(each.id, Figures({})), parents, has_below=each.id in above) for each in domains]


def _box(domain: Domain, figures: Figures, parents: Mapping[int, str], *, has_below: bool) -> DomainBox:
    groups = [MarkGroup("free", FREE, figures.free), MarkGroup("allocated", ALLOCATED, figures.allocated)]
    groups += sorted(
        (MarkGroup(_kind(why), why, number) for why, number in figures.unavailable.items()),
        key=lambda each: (KINDS.index(each.kind), each.word),
    )
    groups = [each for each in groups if each.number]
    picture = marks(f"domain-{domain.id}", f"Machines of {domain.level} {domain.name} by state", groups)
    parent = None if domain.parent_id is None else parents.get(domain.parent_id)
    total = figures.total
    return DomainBox(domain.uuid, domain.level, domain.name, parent, total, groups, picture, has_below)


def _kind(why: str) -> str:
    """Return the colour of machines that are not free for the reason ``why``."""
    if why in (MAINTENANCE, PLANNED, BOOKED):
        return "held"
    return "failed" if why in FAILED_STATES else "other"
