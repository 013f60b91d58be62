"""``baremetal-sched db``: manage the schema of the database."""

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click

from baremetal_sched.cli.options import configured, mistakes, opened

if TYPE_CHECKING:
    from baremetal_sched.db.transaction import Database
    from baremetal_sched.settings import Settings


@click.group()
def db() -> None:
    """Manage the schema of the database."""


@db.command()
@click.option("--check", "only_check", is_flag=True, help="Show what would be done, and do nothing.")
@click.option(
    "--finish",
    is_flag=True,
    help="Confirm that all processes of earlier releases have ended: they can no longer serve the database, and "
    "features that they do not support are switched on.",
)
@configured
def upgrade(only_check: bool, finish: bool, settings: "Settings") -> None:
    """Upgrade the schema to this release, and add its standard traits and resource classes."""
    from baremetal_sched.db import schema

    with opened(settings, served=False) as found:
        if only_check:
            click.echo(_plan(found))
            return
        prepare(found)
        if finish:
            _keep_usages(found)
            schema.finish_upgrade(found.engine)
            _follow_flags(found)
        click.echo(f"schema {schema.current(found.engine)}")


def _keep_usages(database: "Database") -> None:
    """Write the usages of consumers that a release wrote which did not keep them."""
    from baremetal_sched.errors import IsMirror
    from baremetal_sched.placement import usages

    after: int | None = 0
    with suppress(IsMirror):  # where an import writes them
        while after is not None:
            after = database.change(partial(usages.keep_next, after=after))


def _follow_flags(database: "Database") -> None:
    """Make the holds of nodes follow changes of their flags by a release that knew no holds."""
    from baremetal_sched.baremetal.holds.hold_audit import follow_flags
    from baremetal_sched.errors import IsMirror

    after: int | None = 0
    with suppress(IsMirror):  # where an import writes them
        while after is not None:
            after = database.write(partial(follow_flags, after=after))


def _plan(database: "Database") -> str:
    """Return the work that ``prepare`` would do. Raises SchemaTooNew, DatabaseAway."""
    from baremetal_sched.db import schema, schema_state

    state = schema.read_state(database.engine)
    done = schema_state.age(state.revision) + 1
    ahead = schema_state.chain()[done:]
    lines = [f"database: {state.revision or 'none'}", f"release: {schema.head()}"]
    lines += [f"migration {revision}: {schema_state.title(revision)}" for revision in ahead]
    if state.revision is None:
        lines.append("The schema would be created.")
    elif not ahead:
        lines.append("An interrupted change would be completed." if state.changing_to else "Nothing is to be done.")
    elif schema_state.needs_stop(state.revision, schema.head()):
        lines.append("It needs a stop: running releases stop serving the database when it begins.")
    else:
        lines.append("It needs no stop: running releases continue.")
    return "\n".join(lines)


@db.command()
@click.argument("revision")
@click.option("--yes", is_flag=True, help="Do not ask.")
@configured
def downgrade(revision: str, yes: bool, settings: "Settings") -> None:
    """Downgrade the schema to REVISION ("base": remove everything). Data that only newer schemas hold is lost.

    Stop all conductors before: it is refused while one is alive.
    """
    from baremetal_sched.db import schema, schema_state

    with mistakes():
        target = schema_state.find_revision(revision)
    with opened(settings, served=False) as database:
        current = schema.current(database.engine)
        if schema_state.age(target) < schema_state.age(current):
            _require_no_conductor(database, settings)
            _confirm(database, revision, yes)
        if current is not None:
            schema.downgrade(database.engine, revision)
        click.echo(f"schema {schema.current(database.engine) or 'none'}")


def _require_no_conductor(database: "Database", settings: "Settings") -> None:
    from baremetal_sched.db import contents

    alive = contents.live_conductors(database.engine, settings.conductor.heartbeat_timeout)
    if alive:
        raise click.ClickException(
            f"Nothing was changed, because conductors are alive: {', '.join(alive)}. Stop them first; one that was "
            f"killed counts as alive for {settings.conductor.heartbeat_timeout:g} seconds."
        )


def _confirm(database: "Database", revision: str, yes: bool) -> None:
    from baremetal_sched.db import contents

    rows = contents.count(database.engine)
    held = ", ".join(f"{table} {number}" for table, number in rows.items() if number) or "none"
    lost = "All of them will be lost." if revision == "base" else f"What schema {revision} cannot hold will be lost."
    click.echo(f"Rows: {held}. {lost}")
    if not yes and not click.confirm(f"Downgrade to {revision}?"):
        raise click.ClickException("Nothing was changed.")


@db.command()
@configured
def revision(settings: "Settings") -> None:
    """Show the schema revisions of the database and of this release."""
    from baremetal_sched.db import schema

    with opened(settings, served=False) as found:
        click.echo(f"database: {schema.current(found.engine) or 'none'}\nrelease: {schema.head()}")


@db.command()
@configured
def check(settings: "Settings") -> None:
    """Verify derived data, compare nodes with their resource providers and holds, and look for claims that wait in
    vain and webhooks that may send nothing. Exits 1 if anything is inconsistent."""
    from baremetal_sched.baremetal.holds.hold_audit import audit as audit_holds
    from baremetal_sched.baremetal.provider.audit import audit
    from baremetal_sched.scheduling.audit import audit as audit_claims
    from baremetal_sched.scheduling.webhooks.audit import audit as audit_webhooks

    with opened(settings) as database:
        findings = database.snapshot(
            lambda session: [*audit(session), *audit_holds(session), *audit_claims(session, settings)]
        )
        findings += audit_webhooks(database, settings)
    for finding in findings:
        click.echo(finding)
    if findings:
        raise click.exceptions.Exit(1)
    click.echo("ok")


@db.group()
def events() -> None:
    """Manage the stream of events."""


@events.command()
@configured
def new_stream(settings: "Settings") -> None:
    """Begin a new stream of events, after a backup was restored: readers must not continue with their cursors."""
    from baremetal_sched.scheduling.events.numbering import begin_stream

    with opened(settings) as database:
        click.echo(f"stream {database.change(begin_stream)}")


def prepare(database: "Database") -> None:
    """Create or upgrade the schema, and add the standard names. Raises what ``schema.upgrade`` raises."""
    from baremetal_sched.db import schema
    from baremetal_sched.errors import IsMirror
    from baremetal_sched.placement.names import sync_standard_names

    schema.upgrade(database.engine)
    with suppress(IsMirror):  # where an import adds them
        database.write(sync_standard_names)
