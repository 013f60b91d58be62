"""/flavors and /images: the choices for servers, and the machines that fit them."""

from collections.abc import Iterator, Mapping

import orjson
from flask import Response
from sqlalchemy import and_, func, select, true
from sqlalchemy.orm import Session

from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.flavors import flavors
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Flavor, Image, Server
from baremetal_sched.db.paging import SortKey, after_marker, each_row, order
from baremetal_sched.db.types import AnyRow
from baremetal_sched.image.access import listed
from baremetal_sched.image.api.call import ImageCall
from baremetal_sched.image.records import COLUMNS, ImageRecord, select_records
from baremetal_sched.ui import exports
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import submitted, without
from baremetal_sched.ui.paging import (
    MARKERS,
    MOST,
    ORDER,
    PAGING,
    MarkerGone,
    active_filters,
    columns_of,
    of_rows,
    place_of,
)
from baremetal_sched.ui.rendering import page

FLAVOR_KEYS = {"name": "Name", "flavorid": "ID"}
IMAGE_KEYS = {"name": "Name", "status": "Status", "visibility": "Visibility", "owner": "Owner", "created_at": "Age"}

_OF_FLAVORS = ("Asks for", "Access", ("Servers", "number"), "Machines")

#: What decides which machines fit begins with one of these.
_OF_MACHINES = ("resources", "trait", "group_policy", "capabilities:")


def show_flavors(call: UiCall, session: Session) -> Response:
    """GET /flavors: the flavors that the caller may use. Raises InvalidValue."""
    wanted = exports.format_of(call)
    query = submitted(call, ORDER if wanted else PAGING)
    compute = call.compute
    most = exports.MOST if wanted else MOST
    place = place_of(query, FLAVOR_KEYS, SortKey("name"), by_uuid=False, most=most)
    seen = flavors.visible_to(compute.viewer)
    if wanted:
        columns = exports.attributes("flavorid", "name", "is_public")
        columns |= {"asks_for": lambda row: _wants(orjson.loads(row.extra_specs))} if compute.shows_extra_specs else {}
        chosen = select(Flavor.id, *flavors.COLUMNS).where(seen)
        every = each_row(session, chosen, Flavor, place.page(flavors.SORT_KEYS, "flavorid"), _no_marker)
        return exports.export(call, wanted, "flavors", columns, every, place.limit)
    rows = flavors.list_page(session, place.page(flavors.SORT_KEYS, "flavorid", within=seen), seen)
    found = of_rows(place, rows, session.scalars(select(func.count(Flavor.id)).where(seen)).one(), "flavorid")
    ids = [row.flavorid for row in found.rows]
    used = select(Server.flavor_id, func.count()).where(Server.flavor_id.in_(ids)).group_by(Server.flavor_id)
    if compute.viewer is not None:
        used = used.where(Server.project_id == compute.viewer)
    return page(
        call,
        "flavors.html",
        found=found,
        wants={row.flavorid: _wants(orjson.loads(row.extra_specs)) for row in rows if compute.shows_extra_specs},
        used={flavor: count for flavor, count in session.execute(used)} if ids else {},
        kept=without(call.query, *MARKERS),
        columns=columns_of(call, "flavors", FLAVOR_KEYS, {"flavorid": _OF_FLAVORS}),
        may_create=compute.allows(name_of("os-flavor-manage", "create")),
    )


def show_images(call: UiCall, session: Session) -> Response:
    """GET /images: the images that the caller may use. Raises NotAllowed, InvalidValue."""
    image = call.image
    image.require("get_images")
    wanted = exports.format_of(call)
    query = submitted(call, ("name", *(ORDER if wanted else PAGING)))
    most = exports.MOST if wanted else MOST
    place = place_of(query, IMAGE_KEYS, SortKey("created_at", descending=True), most=most)
    seen = listed(image.requester, None, "accepted")
    if (name := query.text("name")) is not None:
        seen.append(Image.name == name)
    image_page = place.page(within=and_(true(), *seen))
    if wanted:
        columns = exports.attributes("uuid", "name", "status", "visibility", "owner", "created_at")
        columns |= {"asks_for": lambda each: _wants(each.properties)}
        ids = each_row(session, select(Image.id).where(*seen), Image, image_page, _no_marker)
        return exports.export(call, wanted, "images", columns, _images(image, session, ids), place.limit)

    def missing(marker: str) -> MarkerGone:
        return MarkerGone(marker=f"Image {marker}")

    chosen = after_marker(session, select(*COLUMNS).where(*seen), Image, image_page, missing)
    records = select_records(session, chosen.order_by(*order(Image, image_page)).limit(image_page.limit))
    visible = [each for each in records if image.requester.may("get_image", each)]
    return page(
        call,
        "images.html",
        found=of_rows(place, visible, session.scalars(select(func.count(Image.id)).where(*seen)).one()),
        wants={each.uuid: _wants(each.properties) for each in visible},
        kept=without(call.query, *MARKERS),
        columns=columns_of(call, "images", IMAGE_KEYS, {"visibility": ["Asks for"], "created_at": ["Servers"]}),
        active=active_filters(call),
        may_create=image.allows("add_image", {**image.target, "owner": call.caller.project_id or ""}),
        now=utcnow(),
    )


def _images(image: ImageCall, session: Session, ids: Iterator[AnyRow]) -> Iterator[ImageRecord]:
    for chunk in exports.chunks(ids):
        chosen = [row.id for row in chunk]
        records = {each.id: each for each in select_records(session, select(*COLUMNS).where(Image.id.in_(chosen)))}
        found = (records[each] for each in chosen if each in records)
        yield from (each for each in found if image.requester.may("get_image", each))


def _no_marker(marker: str) -> MarkerGone:
    return MarkerGone(marker=marker)  # a list for programs has no pages


def _wants(specs: Mapping[str, str]) -> list[str]:
    """The requirements on the machine, as name=value, sorted."""
    return [f"{name}={value}" for name, value in sorted(specs.items()) if name.startswith(_OF_MACHINES)]
