"""The flavors and images that the form can name."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.compute import flavors
from baremetal_sched.db.models import Flavor, Image
from baremetal_sched.image import access
from baremetal_sched.image.access import EVERYTHING, Requester

#: The number of flavors and of images that are offered; others are found by their ids.
MOST = 100


def flavors_seen(session: Session, project: str | None) -> list[tuple[str, str]]:
    """Return ids and names of flavors that the project sees, sorted by name; None: of all."""
    query = select(Flavor.flavorid, Flavor.name).where(flavors.visible_to(project)).order_by(Flavor.name).limit(MOST)
    return [(flavorid, name) for flavorid, name in session.execute(query)]


def images_seen(session: Session, project: str | None) -> list[tuple[str, str]]:
    """Return UUIDs and names of images that the project sees, sorted by name; None: of all."""
    requester = EVERYTHING if project is None else Requester(project)
    query = select(Image.uuid, Image.name).where(access.visible(requester)).order_by(Image.name, Image.id).limit(MOST)
    return [(uuid, name or uuid) for uuid, name in session.execute(query)]
