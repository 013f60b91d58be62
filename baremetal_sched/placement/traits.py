"""Traits, as placement knows them."""

from collections.abc import Collection

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import ProviderTrait, Trait
from baremetal_sched.db.types import Rows


def list_traits(
    session: Session,
    *,
    names: Collection[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> Rows:
    """Traits (name, created_at), sorted by name: those in ``names``, with ``prefix``, and that some provider has, or
    that none has; None: not asked."""
    query = select(Trait.name, Trait.created_at).order_by(Trait.name)
    if names is not None:
        query = query.where(Trait.name.in_(names))
    if prefix is not None:
        query = query.where(Trait.name.startswith(prefix, autoescape=True))
    if associated is not None:
        has = exists().where(ProviderTrait.trait_id == Trait.id)
        query = query.where(has if associated else ~has)
    return session.execute(query).all()
