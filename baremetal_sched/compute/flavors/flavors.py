"""Flavors: the sizes of servers, their extra specs, and the projects that may use a private one.

``project`` is the project for which a flavor is looked up: it sees public flavors, and the private ones that it has
access to. None means an administrator, who sees all of them.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, delete, exists, false, or_, select, true
from sqlalchemy.orm import Session

from baremetal_sched.compute.flavors import extra_specs
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.compiled import insert_missing
from baremetal_sched.db.models import Flavor, FlavorProject, table_of
from baremetal_sched.db.paging import Page, select_page
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Rows, as_text
from baremetal_sched.errors.compute import (
    ExtraSpecNotFound,
    FlavorAccessExists,
    FlavorAccessNotFound,
    FlavorIdTaken,
    FlavorIsPublic,
    FlavorMarkerNotFound,
    FlavorNameTaken,
    FlavorNotFound,
    PublicFlavorNeedsNoAccess,
)

#: What a list may be sorted by, by the names that Nova has for it.
SORT_KEYS = {
    "created_at": Flavor.created_at,
    "description": Flavor.description,
    # All flavors have the same of this.
    "disabled": Flavor.id,
    "ephemeral_gb": Flavor.ephemeral_gb,
    "flavorid": Flavor.flavorid,
    "id": Flavor.id,
    "is_public": Flavor.is_public,
    "memory_mb": Flavor.memory_mb,
    "name": Flavor.name,
    "root_gb": Flavor.root_gb,
    "rxtx_factor": Flavor.rxtx_factor,
    "swap": Flavor.swap_mb,
    "updated_at": Flavor.updated_at,
    "vcpu_weight": Flavor.id,
    "vcpus": Flavor.vcpus,
}

#: What a list or a single flavor is shown from; ``extra_specs`` is the JSON text.
COLUMNS = (
    Flavor.flavorid,
    Flavor.name,
    Flavor.vcpus,
    Flavor.memory_mb,
    Flavor.root_gb,
    Flavor.ephemeral_gb,
    Flavor.swap_mb,
    Flavor.rxtx_factor,
    Flavor.is_public,
    Flavor.description,
    as_text(table_of(Flavor).c.extra_specs).label("extra_specs"),
)


def create(session: Session, values: Mapping[str, Any]) -> Flavor:
    """Add a flavor with ``values`` (columns of the model) and no extra specs.

    Without ``flavorid`` its id is a new UUID. Raises FlavorNameTaken, FlavorIdTaken.
    """
    flavorid = values.get("flavorid") or str(uuid.uuid4())
    name = values["name"]
    # The unique keys decide; this is for the message.
    if session.scalar(select(exists().where(Flavor.name == name))):
        raise FlavorNameTaken(name=name)
    if session.scalar(select(exists().where(Flavor.flavorid == flavorid))):
        raise FlavorIdTaken(flavor=flavorid)
    flavor = Flavor(**{**values, "flavorid": flavorid}, extra_specs={}, created_at=utcnow())
    session.add(flavor)
    session.flush()
    return flavor


def find(session: Session, flavorid: str, project: str | None) -> Flavor:
    """Return the flavor with this id. Raises FlavorNotFound if it does not exist or the project does not see it."""
    return _find(session, flavorid, project, lock=False)


def find_for_change(session: Session, flavorid: str, project: str | None = None) -> Flavor:
    """Return the flavor with this id, locked until the transaction ends. Raises FlavorNotFound."""
    return _find(session, flavorid, project, lock=True)


def show(session: Session, flavorid: str, project: str | None) -> Any:
    """Return the row of ``COLUMNS`` of the flavor with this id. Raises FlavorNotFound."""
    row = session.execute(select(*COLUMNS).where(Flavor.flavorid == flavorid, visible_to(project))).first()
    if row is None:
        raise FlavorNotFound(flavor=flavorid)
    return row


def list_page(session: Session, page: Page, *conditions: ColumnElement[bool]) -> Rows:
    """Return the rows of ``COLUMNS`` that are on the page; its marker is the id of a flavor.

    Raises FlavorMarkerNotFound, InvalidValue for a sort key that does not exist.
    """
    query = select(*COLUMNS).where(*conditions)
    return select_page(session, query, Flavor, page, lambda marker: FlavorMarkerNotFound(marker=marker))


def visible_to(project: str | None) -> ColumnElement[bool]:
    """SQL condition: the project sees the flavor."""
    return true() if project is None else or_(Flavor.is_public == true(), _has_access(project))


def of_publicity(is_public: bool | None, project: str) -> ColumnElement[bool]:
    """SQL condition of a list: public flavors, and flavors that ``project`` has access to; private ones; None: all."""
    if is_public is None:
        return true()
    return visible_to(project) if is_public else Flavor.is_public == false()


def update_description(session: Session, flavorid: str, description: str | None) -> Flavor:
    """Give the flavor another description. Raises FlavorNotFound."""
    flavor = find_for_change(session, flavorid)
    flavor.description = description
    flavor.updated_at = utcnow()
    return flavor


def destroy(session: Session, flavorid: str) -> None:
    """Remove the flavor. Servers keep their own copies of it. Raises FlavorNotFound."""
    session.delete(find_for_change(session, flavorid))


def set_extra_specs(session: Session, flavorid: str, specs: Mapping[str, str]) -> Flavor:
    """Add or replace extra specs. Raises FlavorNotFound, and InvalidExtraSpec if the flavor would have wrong ones."""
    flavor = find_for_change(session, flavorid)
    # Rules across keys hold for the flavor as it will be.
    result = {**flavor.extra_specs, **specs}
    extra_specs.check(result)
    flavor.extra_specs = result
    flavor.updated_at = utcnow()
    return flavor


def delete_extra_spec(session: Session, flavorid: str, key: str) -> None:
    """Remove an extra spec, whatever remains: clients remove one key at a time.

    Raises FlavorNotFound, ExtraSpecNotFound.
    """
    flavor = find_for_change(session, flavorid)
    if key not in flavor.extra_specs:
        raise ExtraSpecNotFound(flavor=flavorid, key=key)
    flavor.extra_specs = {name: value for name, value in flavor.extra_specs.items() if name != key}
    flavor.updated_at = utcnow()


def _find(session: Session, flavorid: str, project: str | None, *, lock: bool) -> Flavor:
    query = select(Flavor).where(Flavor.flavorid == flavorid, visible_to(project))
    flavor = session.scalars(query.with_for_update() if lock else query).first()
    if flavor is None:
        raise FlavorNotFound(flavor=flavorid)
    return flavor


def _has_access(project: str) -> ColumnElement[bool]:
    return exists().where(FlavorProject.flavor_id == Flavor.id, FlavorProject.project_id == project)


def projects_of(session: Session, flavorid: str, project: str | None) -> list[str]:
    """Return the projects that may use a private flavor, sorted. Raises FlavorNotFound, FlavorIsPublic."""
    flavor = find(session, flavorid, project)
    if flavor.is_public:
        raise FlavorIsPublic
    return _projects(session, flavor)


def add_access(session: Session, flavorid: str, project_id: str, *, public_too: bool = False) -> list[str]:
    """Let a project use a flavor; returns the projects that may.

    ``public_too``: a public flavor is not refused. Raises FlavorNotFound, PublicFlavorNeedsNoAccess,
    FlavorAccessExists.
    """
    flavor = find_for_change(session, flavorid)
    if flavor.is_public and not public_too:
        raise PublicFlavorNeedsNoAccess
    before = _projects(session, flavor)
    if project_id in before:
        raise FlavorAccessExists(flavor=flavorid, project=project_id)
    row = {"flavor_id": flavor.id, "project_id": project_id, "created_at": utcnow()}
    insert_missing(session, table_of(FlavorProject), [row])
    return sorted([*before, project_id])


def remove_access(session: Session, flavorid: str, project_id: str) -> list[str]:
    """Remove a project's access to a flavor; return the projects that still have access.

    Raises FlavorNotFound, FlavorAccessNotFound.
    """
    flavor = find_for_change(session, flavorid)
    removed = delete(FlavorProject).where(FlavorProject.flavor_id == flavor.id, FlavorProject.project_id == project_id)
    if not rows_changed(session.execute(removed)):
        raise FlavorAccessNotFound(flavor=flavorid, project=project_id)
    return _projects(session, flavor)


def _projects(session: Session, flavor: Flavor) -> list[str]:
    query = select(FlavorProject.project_id).where(FlavorProject.flavor_id == flavor.id)
    return list(session.scalars(query.order_by(FlavorProject.project_id)))
