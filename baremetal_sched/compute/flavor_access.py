"""Which projects may use a private flavor."""

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from baremetal_sched.compute import flavors
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.insert import insert_missing
from baremetal_sched.db.models import Flavor, FlavorProject, table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors.flavors import (
    FlavorAccessExists,
    FlavorAccessNotFound,
    FlavorIsPublic,
    PublicFlavorNeedsNoAccess,
)


def projects_of(session: Session, flavorid: str, project: str | None) -> list[str]:
    """Return the projects that may use a private flavor, sorted. Raises FlavorNotFound, FlavorIsPublic."""
    flavor = flavors.find(session, flavorid, project)
    if flavor.is_public:
        raise FlavorIsPublic
    return _projects(session, flavor)


def add(session: Session, flavorid: str, project_id: str, *, public_too: bool = False) -> list[str]:
    """Let a project use a flavor; returns the projects that may.

    ``public_too``: a public flavor is not refused. Raises FlavorNotFound, PublicFlavorNeedsNoAccess,
    FlavorAccessExists.
    """
    flavor = flavors.find_for_change(session, flavorid)
    if flavor.is_public and not public_too:
        raise PublicFlavorNeedsNoAccess
    before = _projects(session, flavor)
    if project_id in before:
        raise FlavorAccessExists(flavor=flavorid, project=project_id)
    row = {"flavor_id": flavor.id, "project_id": project_id, "created_at": utcnow()}
    insert_missing(session, table_of(FlavorProject), [row])
    return sorted([*before, project_id])


def remove(session: Session, flavorid: str, project_id: str) -> list[str]:
    """Remove a project's access to a flavor; return the projects that still have access.

    Raises FlavorNotFound, FlavorAccessNotFound.
    """
    flavor = flavors.find_for_change(session, flavorid)
    removed = delete(FlavorProject).where(FlavorProject.flavor_id == flavor.id, FlavorProject.project_id == project_id)
    if not rows_changed(session.execute(removed)):
        raise FlavorAccessNotFound(flavor=flavorid, project=project_id)
    return _projects(session, flavor)


def _projects(session: Session, flavor: Flavor) -> list[str]:
    query = select(FlavorProject.project_id).where(FlavorProject.flavor_id == flavor.id)
    return list(session.scalars(query.order_by(FlavorProject.project_id)))
