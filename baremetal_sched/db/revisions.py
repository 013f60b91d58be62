"""The revisions that this release knows, and which releases can serve each. A release is called by its newest one."""

from functools import cache
from pathlib import Path

from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from baremetal_sched.errors import InvalidValue, SchemaTooNew

#: Where the migrations are: inside an installed package, beside it in a checkout.
_PLACES = (Path(__file__).parents[1] / "migrations", Path(__file__).parents[2] / "migrations")


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's configuration, with our migrations and, for commands that run them, the connection to run them on."""
    place = next(place for place in _PLACES if (place / "env.py").exists())
    config = Config()
    config.set_main_option("script_location", str(place))
    config.attributes["connection"] = connection
    return config


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(alembic_config())


@cache
def chain() -> tuple[str, ...]:
    """All revisions, the oldest first."""
    return tuple(script.revision for script in _scripts().walk_revisions())[::-1]


def head() -> str:
    """The newest revision that this release knows."""
    return chain()[-1]


def find(name: str) -> str | None:
    """The revision that ``name`` means: ``head``, ``base`` (None) or a revision. Raises InvalidValue."""
    if name not in {"head", "base", *chain()}:
        raise InvalidValue(message=f"There is no revision {name!r}; this release knows base, {', '.join(chain())}.")
    return {"head": head(), "base": None}.get(name, name)


def age(revision: str | None) -> int:
    """How many revisions came before it; -1 for None, the empty database. Raises SchemaTooNew if it is not known."""
    if revision is None:
        return -1
    if revision not in chain():
        raise SchemaTooNew(found=revision, known=head())
    return chain().index(revision)


@cache
def served_since(revision: str) -> str:
    """The oldest release that can serve a database at ``revision``.

    Its migration says so with ``served_since``, in its module; one that does not can be served by no release before it.
    What came between the two has to allow it, too.
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
