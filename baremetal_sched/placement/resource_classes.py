"""Resource classes."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import ResourceClass
from baremetal_sched.db.types import Rows


def list_classes(session: Session, *, name: str | None = None) -> Rows:
    """Resource classes (name, created_at, updated_at) in the order of their ids; or just the one called ``name``."""
    query = select(ResourceClass.name, ResourceClass.created_at, ResourceClass.updated_at).order_by(ResourceClass.id)
    return session.execute(query.where(ResourceClass.name == name) if name is not None else query).all()
