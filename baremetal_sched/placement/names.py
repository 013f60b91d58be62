"""Names and ids of traits and resource classes."""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache

import os_resource_classes
from sqlalchemy import ColumnElement, SQLColumnExpression, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.compiled import insert_missing
from baremetal_sched.db.models import ResourceClass, Trait, table_of
from baremetal_sched.db.types import Reader, Writer
from baremetal_sched.errors.placement import ResourceClassNotFound
from baremetal_sched.placement import name_memory
from baremetal_sched.placement.name_memory import Named

#: Maximum length of the name of a trait or resource class.
NAME_LENGTH = 255

_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]+")
_NOT_ALPHANUMERIC = re.compile(r"[^0-9A-Za-z]+")

STANDARD_CLASSES = tuple(os_resource_classes.STANDARDS)


@cache
def standard_traits() -> frozenset[str]:
    """Return the names of all standard traits."""
    import os_traits  # imports a module for each group of traits

    return frozenset(os_traits.get_traits())


def is_custom(name: str) -> bool:
    """Return whether ``name`` is a valid custom name: ``CUSTOM_`` and then ``A-Z 0-9 _``, at most 255 characters."""
    return len(name) <= NAME_LENGTH and _CUSTOM.fullmatch(name) is not None


#: Traits of a scheduler (Nova), which it may set on the provider of a node.
SCHEDULER_NAMESPACES = ("COMPUTE_", "OWNER_")


def is_scheduler_trait(name: str) -> bool:
    """Return whether the trait ``name`` of a node's provider belongs to the scheduler."""
    return name.startswith(SCHEDULER_NAMESPACES)


def scheduler_clause(name: SQLColumnExpression[str]) -> ColumnElement[bool]:
    """Return ``is_scheduler_trait`` as an SQL condition."""
    return or_(*(name.startswith(namespace, autoescape=True) for namespace in SCHEDULER_NAMESPACES))


def sync_standard_names(session: Session) -> None:
    """Insert the standard traits and resource classes of the installed libraries that the database lacks."""
    _insert(session, ResourceClass, STANDARD_CLASSES, ids_of(session, ResourceClass, STANDARD_CLASSES))
    _insert(session, Trait, sorted(standard_traits()), ids_of(session, Trait, standard_traits()))


def resource_class_of(name: str) -> str:
    """The resource class in placement that a node's ``resource_class`` becomes: ``gold.v1`` is ``CUSTOM_GOLD_V1``.

    As Nova has it: each run of characters outside ``0-9 A-Z a-z`` becomes one ``_``; nothing is stripped, and a
    ``CUSTOM_`` in front stays and gets another.
    """
    return "CUSTOM_" + _NOT_ALPHANUMERIC.sub("_", name).upper()


def ids_of(reader: Reader, model: Named, names: Collection[str]) -> dict[str, int]:
    """Return ids by name for the ``names`` of traits or resource classes that exist."""
    if not names:
        return {}
    rows = reader.execute(select(model.name, model.id).where(model.name.in_(names)))
    return {name: row_id for name, row_id in rows}


def class_id(reader: Reader, name: str) -> int:
    """Return the id of a resource class. Raises ResourceClassNotFound."""
    ids = ids_of(reader, ResourceClass, [name])
    if name not in ids:
        raise ResourceClassNotFound(resource_class=name)
    return ids[name]


def names_of(reader: Reader, model: Named, ids: Iterable[int]) -> Mapping[int, str]:
    """Return names by id for the ``ids`` that exist, and perhaps for others."""
    known = name_memory.of(reader).names[model]
    missing = set(ids) - known.keys()
    if missing:
        table = table_of(model)
        rows = reader.execute(select(table.c.id, table.c.name).where(table.c.id.in_(missing)))
        known.update({row_id: name for row_id, name in rows})
    return known


def ensure_traits(session: Session, names: Collection[str]) -> dict[str, int]:
    """Return ids by name for all of ``names``, which must be valid; missing ones are created."""
    return _ensure(session, Trait, names)


def traits_to_give(writer: Writer, names: Collection[str]) -> dict[str, int]:
    """Like ``ensure_traits``, for rows that are written now, using this process's cache.

    A trait that was deleted a moment ago may still be found by its old id, which nothing can refer to. The transaction
    is run again, and by then the id is forgotten (``name_memory``).
    """
    known = name_memory.of(writer).written_traits
    if not known.keys() >= set(names):
        known.update(_ensure(writer, Trait, names))
    return {name: known[name] for name in names}


def ensure_class(session: Session, name: str) -> int:
    """Return the id of resource class ``name``, which must be valid; it is created if it does not exist."""
    return _ensure(session, ResourceClass, [name])[name]


def _ensure(writer: Writer, model: Named, names: Collection[str]) -> dict[str, int]:
    known = ids_of(writer, model, names)
    if len(known) < len(set(names)):
        _insert(writer, model, names, known)
        known = ids_of(writer, model, names)
    return known


def _insert(writer: Writer, model: Named, names: Iterable[str], known: Collection[str]) -> None:
    rows = [{"name": name, "created_at": utcnow()} for name in dict.fromkeys(names) if name not in known]
    insert_missing(writer, table_of(model), rows)
