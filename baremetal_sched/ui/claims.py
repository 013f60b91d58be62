"""/claims: the machines that claims have, for which project and since when; each claim can be given back."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, select, true
from sqlalchemy.orm import Session, defer

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Consumer, Node, WaitingRequest
from baremetal_sched.db.paging import SortKey, each_row, select_page
from baremetal_sched.db.types import AnyRow
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.waiting_requests import CLAIM, CLAIMED, MACHINE_CLASS
from baremetal_sched.scheduling import claim_ends, claims
from baremetal_sched.scheduling.api.claims import documents_of, visible_to
from baremetal_sched.scheduling.api.policies import DELETE_CLAIM
from baremetal_sched.scheduling.claims import ClaimStatus
from baremetal_sched.scheduling.schemas import claims as schemas
from baremetal_sched.ui import exports
from baremetal_sched.ui.actions import ACTIONS
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.ends import PageEnd, of_claim
from baremetal_sched.ui.forms import FormQuery, submitted, without
from baremetal_sched.ui.paging import MARKERS, MOST, ORDER, PAGING, MarkerGone, active_filters, of_rows, place_of
from baremetal_sched.ui.rendering import page

FILTERS = ("uuid", "project", "resource_class", "late")
_NEWEST = SortKey("id", descending=True)
_SORTED = {"id": WaitingRequest.id}


@dataclass(frozen=True)
class PageMachine:
    """A machine of a claim: the UUID of its node (None: it is no node), its name if the caller sees the node, and the
    domains that it is in, by level."""

    node: str | None
    name: str | None
    domains: Mapping[str, str]


@dataclass(frozen=True)
class PageClaim:
    """A claim as its row shows it; ``may_end``: whether the caller may give it back, and set its end."""

    status: ClaimStatus
    machines: Sequence[PageMachine]
    since: datetime
    may_end: bool
    end: PageEnd | None

    @property
    def domains(self) -> list[str]:
        """Return the names of the domains of all its machines, sorted."""
        return sorted({domain for machine in self.machines for domain in machine.domains.values()})


def show_claims(call: UiCall, session: Session) -> Response:
    """GET /claims: the claims that have machines now, the newest first. Raises InvalidValue."""
    wanted = exports.format_of(call)
    query = submitted(call, (*FILTERS, *(ORDER if wanted else PAGING)))
    visible = visible_to(call)
    is_late, late = query.flag("late"), _late(call, session) if query.has("late") else []
    conditions = [WaitingRequest.kind == CLAIM, claims.in_state(CLAIMED), *_conditions(query, late)]
    conditions += [] if visible is None else [visible]
    place = place_of(query, (), _NEWEST, most=exports.MOST if wanted else MOST)
    chosen = select(WaitingRequest.id, WaitingRequest.uuid).where(*conditions)
    row_page = place.page(_SORTED, within=true() if visible is None else visible)
    others = list(_others(session, query, late)) if is_late and not any(map(query.has, MARKERS)) else []
    if wanted:
        rows = each_row(session, chosen, WaitingRequest, row_page, _no_marker)
        chunks = exports.chunks(chain(_statuses(session, rows), others))
        documents = (each for chunk in chunks for each in _documents(call, session, chunk))
        return exports.export(call, wanted, "claims", exports.members(wanted, schemas.CLAIM), documents, place.limit)
    found = of_rows(place, select_page(session, chosen, WaitingRequest, row_page, _no_marker), 0)
    shown = _page_claims(call, session, [*_statuses(session, found.rows), *others])
    may_end = any(each.may_end for each in shown)
    return page(
        call,
        "claims.html",
        found=found,
        claims=shown,
        kept=without(call.query, *MARKERS),
        active=active_filters(call),
        is_one=query.has("uuid"),
        everything=visible is None,
        shows_domains=any(each.domains for each in shown),
        shows_ends=any(each.end for each in shown),
        offers=[(name, ACTIONS[name].label) for name in ("give back", "set end")] if may_end else [],
        now=utcnow(),
    )


def _late(call: UiCall, session: Session) -> list[str]:
    """Return the UUIDs of what could not be given back at its end, of what the caller may see."""
    visible = visible_to(call, Consumer.project_id)
    return claim_ends.late(session, *(() if visible is None else (visible,)))


def _others(session: Session, query: FormQuery, late: Sequence[str]) -> Iterator[ClaimStatus]:
    """Yield the servers and allocations that are late, with the filters of the page."""
    project, name = query.text("project"), query.text("resource_class")
    for status in claim_ends.statuses_of(session, late):
        is_wanted = query.uuid("uuid") in (None, status.claim.uuid) and project in (None, status.claim.consumer_project)
        has_class = name is None or status.claim.machine_class in (name, resource_class_of(name))
        if status.claim.kind != CLAIM and is_wanted and has_class:
            yield status


def _conditions(query: FormQuery, late: Collection[str]) -> Iterator[ColumnElement[bool]]:
    if (uuid := query.uuid("uuid")) is not None:
        yield WaitingRequest.uuid == uuid
    if (project := query.text("project")) is not None:
        yield WaitingRequest.consumer_project == project
    if (name := query.text("resource_class")) is not None:
        yield MACHINE_CLASS.in_([name, resource_class_of(name)])
    if (is_late := query.flag("late")) is not None:
        yield WaitingRequest.uuid.in_(late) if is_late else WaitingRequest.uuid.not_in(late)


def _no_marker(marker: str) -> MarkerGone:
    return MarkerGone(marker=f"Claim {marker}")


def _statuses(session: Session, rows: Collection[AnyRow] | Iterator[AnyRow]) -> Iterator[ClaimStatus]:
    """Yield the claims of rows in their order; some are read at a time."""
    query = select(WaitingRequest).options(defer(WaitingRequest.secret))
    for chunk in exports.chunks(rows):
        ids = [row.id for row in chunk]
        found = {each.id: each for each in session.scalars(query.where(WaitingRequest.id.in_(ids)))}
        yield from claims.statuses_of(session, [found[each] for each in ids if each in found])


def _documents(call: UiCall, session: Session, statuses: Sequence[ClaimStatus]) -> list[dict[str, Any]]:
    """Return the documents of the API, with all members: lists for programs have the same columns for all callers."""
    documents = documents_of(call, session, statuses)
    for machine in (each for document in documents for each in document["machines"]):
        machine.setdefault("domains", {})
    return documents


def _page_claims(call: UiCall, session: Session, statuses: Sequence[ClaimStatus]) -> list[PageClaim]:
    machines = [each["machines"] for each in documents_of(call, session, statuses)]
    names = node_names(call, session, {each["node"] for several in machines for each in several if each["node"]})
    return [
        PageClaim(
            status,
            [PageMachine(each["node"], names.get(each["node"]), each.get("domains", {})) for each in several],
            datetime.fromtimestamp(status.claim.decided_at or status.claim.asked_at, UTC).replace(tzinfo=None),
            status.claim.kind == CLAIM and call.allows(DELETE_CLAIM, {"project_id": status.claim.consumer_project}),
            of_claim(status),
        )
        for status, several in zip(statuses, machines, strict=True)
    ]


def node_names(call: UiCall, session: Session, nodes: Collection[str]) -> dict[str, str | None]:
    """Return the names of those of the nodes (UUIDs) that the caller sees."""
    if not nodes:
        return {}
    query = select(Node.uuid, Node.name).where(Node.uuid.in_(nodes), *call.visible.conditions())
    return {uuid: name or uuid for uuid, name in session.execute(query)}
