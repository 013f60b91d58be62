"""The known schema revisions, and the releases that can serve each. A release is identified by its newest revision."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from baremetal_sched.errors import InvalidValue, SchemaTooNew

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

#: Directory of the migrations: in an installed package, or beside it in a checkout.
_PLACES = (Path(__file__).parents[1] / "migrations", Path(__file__).parents[2] / "migrations")


def _place() -> Path:
    return next(place for place in _PLACES if (place / "env.py").exists())


def alembic_config(connection: Connection | None = None) -> "Config":
    """Return Alembic's configuration with our migrations and, to run them, the connection."""
    # Alembic is slow to import, and only migrations need it: no process of the API imports it.
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_place()))
    config.attributes["connection"] = connection
    return config


@cache
def _scripts() -> "ScriptDirectory":
    from alembic.script import ScriptDirectory  # see ``alembic_config``

    return ScriptDirectory.from_config(alembic_config())


@cache
def chain() -> tuple[str, ...]:
    """Return all revisions, the oldest first: the numbers with which the names of the migrations' files begin."""
    return tuple(sorted(path.name.split("_")[0] for path in (_place() / "versions").glob("[0-9]*_*.py")))


def head() -> str:
    """Return the newest known revision."""
    return chain()[-1]


def find(name: str) -> str | None:
    """Return the revision called ``name``: ``head``, ``base`` (None) or a revision. Raises InvalidValue."""
    if name not in {"head", "base", *chain()}:
        raise InvalidValue(
            message=f"There is no revision {name!r}; the revisions of this release are base, {', '.join(chain())}."
        )
    return {"head": head(), "base": None}.get(name, name)


def age(revision: str | None) -> int:
    """Return the number of earlier revisions; -1 for None, the empty database. Raises SchemaTooNew for an unknown
    one."""
    if revision is None:
        return -1
    if revision not in chain():
        raise SchemaTooNew(found=revision, known=head())
    return chain().index(revision)


def title(revision: str) -> str:
    """Return the summary of the migration to this revision: the first line of its docstring."""
    return str(_scripts().get_revision(revision).doc)


@cache
def served_since(revision: str) -> str:
    """Return the oldest release that can serve a database at ``revision``.

    Its migration declares ``served_since`` in its module; without that, no earlier release can. All revisions in
    between must allow it, too.
    """
    script = _scripts().get_revision(revision)
    marked = getattr(script.module, "served_since", revision)
    previous = script.down_revision
    if marked == revision or not isinstance(previous, str):
        return revision
    return max(marked, served_since(previous), key=age)


def needs_stop(found: str, target: str) -> bool:
    """Return whether the release of ``found`` cannot serve the schema at ``target``, a newer one."""
    return age(served_since(target)) > age(found)
