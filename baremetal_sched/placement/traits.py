"""Traits, and the traits of providers."""

from collections.abc import Collection, Iterable

from sqlalchemy import bindparam, delete, exists, func, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import ProviderTrait, Trait
from baremetal_sched.db.results import require_changed
from baremetal_sched.db.types import Rows
from baremetal_sched.errors.placement import (
    InvalidTrait,
    MirrorsNode,
    StandardTrait,
    TraitInUse,
    TraitNotFound,
    UnknownTraits,
)
from baremetal_sched.placement import names as all_names
from baremetal_sched.placement import provider_parts
from baremetal_sched.placement import trait_ids as id_texts
from baremetal_sched.placement.locked import GENERATION_CHANGED, LockedProvider
from baremetal_sched.placement.names import is_scheduler_trait
from baremetal_sched.placement.tables import SHARING_TRAIT, TRAITS

_NAMED = (
    select(TRAITS.c.name, TRAITS.c.created_at, TRAITS.c.id)
    .where(TRAITS.c.name.in_(bindparam("names", expanding=True)))
    .order_by(TRAITS.c.name)
)


def list_traits(
    session: Session,
    *,
    names: Collection[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> Rows:
    """Return traits (name, created_at), sorted by name: those in ``names``, with ``prefix``, and with or without an
    associated provider; None: no condition."""
    query = select(Trait.name, Trait.created_at).order_by(Trait.name)
    if names is not None:
        query = query.where(Trait.name.in_(names))
    if prefix is not None:
        query = query.where(func.substr(Trait.name, 1, len(prefix)) == prefix)
    if associated is not None:
        has = exists().where(ProviderTrait.trait_id == Trait.id)
        query = query.where(has if associated else ~has)
    return session.execute(query).all()


def ensure(session: Session, name: str) -> bool:
    """Ensure that the custom trait ``name`` exists; return whether it is new. Raises InvalidTrait."""
    if not all_names.is_custom(name):
        raise InvalidTrait
    if all_names.ids_of(session, Trait, [name]):
        return False
    session.execute(insert(Trait).values(name=name, created_at=utcnow()))
    return True


def remove(session: Session, name: str) -> None:
    """Delete a custom trait. Raises TraitNotFound, StandardTrait, TraitInUse."""
    ids = all_names.ids_of(session, Trait, [name])
    if name not in ids:
        raise TraitNotFound(traits=name)
    if not name.startswith("CUSTOM_"):
        raise StandardTrait(trait=name)
    if session.scalar(select(ProviderTrait.provider_id).where(ProviderTrait.trait_id == ids[name]).limit(1)):
        raise TraitInUse(trait=name)
    require_changed(session.execute(delete(Trait).where(Trait.id == ids[name])), "the trait was deleted")


def replace(session: Session, provider: LockedProvider, names: Iterable[str], generation: int) -> Rows | None:
    """Replace the provider's traits with ``names``; its generation is incremented only if they change. Return them as
    they are now: name and created_at, sorted; None if the node has a say in them, so that they must be read.

    The provider of a node keeps the node's traits, accepts those of the scheduler, and accepts an unchanged set at any
    generation. Raises GenerationConflict, UnknownTraits, and MirrorsNode if that provider would share its inventory.
    """
    wanted = set(names)
    present = {row.name for row in provider_parts.traits(session, provider.uuid)[1]} if provider.mirrors_node else None
    if wanted == present:
        return None
    provider.require_generation(generation, GENERATION_CHANGED)
    rows = session.connection().execute(_NAMED, {"names": sorted(wanted)}).all() if wanted else []
    ids = {row.name: row.id for row in rows}
    unknown = sorted(wanted - ids.keys())
    if unknown:
        raise UnknownTraits(traits=", ".join(unknown))
    if present is not None:
        _refuse_sharing(provider, wanted - present)
        ids = all_names.ids_of(session, Trait, _beside_node(present, wanted))
    provider.serves_machines = provider.serves_machines or SHARING_TRAIT in wanted
    set_exactly(session, provider, set(ids.values()))
    return rows if present is None else None


def remove_all(session: Session, provider: LockedProvider) -> None:
    """Remove all traits of the provider; the provider of a node keeps the node's traits."""
    kept: set[int] = set()
    if provider.mirrors_node:
        present = [row.name for row in provider_parts.traits(session, provider.uuid)[1]]
        kept = set(all_names.ids_of(session, Trait, _beside_node(present, ())).values())
    set_exactly(session, provider, kept)


def _beside_node(present: Iterable[str], wanted: Iterable[str]) -> set[str]:
    """Return the node's traits among ``present`` and the scheduler's traits among ``wanted``."""
    own = {name for name in present if not is_scheduler_trait(name)}
    return own | {name for name in wanted if is_scheduler_trait(name)}


def _refuse_sharing(provider: LockedProvider, added: Collection[str]) -> None:
    if SHARING_TRAIT in added:
        raise MirrorsNode(provider=provider.uuid, what=f"traits, {SHARING_TRAIT} included")


def set_exactly(session: Session, provider: LockedProvider, trait_ids: set[int]) -> None:
    """Replace the provider's traits."""
    if id_texts.replace(session.connection(), provider.id, provider.generation, provider.trait_ids, trait_ids):
        provider.has_changed(session)
