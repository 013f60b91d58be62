"""``baremetal-sched db``: manage the schema of the database."""

import click

from baremetal_sched.cli.options import common_options, make_settings, opened
from baremetal_sched.db import contents, revisions, schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.names import sync_standard_names
from baremetal_sched.settings import Settings


@click.group()
def db() -> None:
    """Manage the schema of the database."""


@db.command()
@click.option("--check", "only_check", is_flag=True, help="Say what would be done, and do nothing.")
@common_options
def upgrade(only_check: bool, config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Upgrade the schema to this release, and add its standard traits and resource classes."""
    with opened(make_settings(config_files, database, debug), served=False) as found:
        if only_check:
            click.echo(_plan(found))
            return
        prepare(found)
        click.echo(f"schema {schema.current(found.engine)}")


def _plan(database: Database) -> str:
    """Return what ``prepare`` would do. Raises SchemaTooNew, DatabaseAway."""
    state = schema.read_state(database.engine)
    done = revisions.age(state.revision) + 1
    ahead = revisions.chain()[done:]
    lines = [f"database: {state.revision or 'none'}", f"release: {schema.head()}"]
    lines += [f"migration {revision}: {revisions.title(revision)}" for revision in ahead]
    if state.revision is None:
        lines.append("The schema would be created.")
    elif not ahead:
        lines.append("An interrupted change would be completed." if state.changing_to else "Nothing is to be done.")
    elif revisions.needs_stop(state.revision, schema.head()):
        lines.append("It needs a stop: running releases stop serving the database when it begins.")
    else:
        lines.append("It needs no stop: running releases go on.")
    return "\n".join(lines)


@db.command()
@click.argument("revision")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def downgrade(revision: str, yes: bool, config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Downgrade the schema to REVISION ("base": remove everything). Data that only newer schemas hold is lost.

    Stop all conductors before: it is refused while one is alive.
    """
    settings = make_settings(config_files, database, debug)
    with opened(settings, served=False) as found:
        target, current = revisions.find(revision), schema.current(found.engine)
        if revisions.age(target) < revisions.age(current):
            _require_no_conductor(found, settings)
            _confirm(found, revision, yes)
        if current is not None:
            schema.downgrade(found.engine, revision)
        click.echo(f"schema {schema.current(found.engine) or 'none'}")


def _require_no_conductor(database: Database, settings: Settings) -> None:
    alive = contents.live_conductors(database.engine, settings.conductor.heartbeat_timeout)
    if alive:
        raise click.ClickException(
            f"Nothing was changed, because conductors are alive: {', '.join(alive)}. Stop them first; one that was "
            f"killed counts as alive for {settings.conductor.heartbeat_timeout:g} seconds."
        )


def _confirm(database: Database, revision: str, yes: bool) -> None:
    rows = contents.count(database.engine)
    held = ", ".join(f"{table} {number}" for table, number in rows.items() if number) or "none"
    lost = "All of them will be lost." if revision == "base" else f"What schema {revision} cannot hold will be lost."
    click.echo(f"Rows: {held}. {lost}")
    if not yes and not click.confirm(f"Downgrade to {revision}?"):
        raise click.ClickException("Nothing was changed.")


@db.command()
@common_options
def revision(config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Show the schema revisions of the database and of this release."""
    with opened(make_settings(config_files, database, debug), served=False) as found:
        click.echo(f"database: {schema.current(found.engine) or 'none'}\nrelease: {schema.head()}")


@db.command()
@common_options
def check(config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Verify derived data, and compare nodes with their resource providers. Exits 1 if anything is inconsistent."""
    from baremetal_sched.baremetal.provider.audit import audit

    with opened(make_settings(config_files, database, debug)) as found:
        findings = found.snapshot(audit)
    for finding in findings:
        click.echo(finding)
    if findings:
        raise click.exceptions.Exit(1)
    click.echo("ok")


def prepare(database: Database) -> None:
    """Create or upgrade the schema, and add the standard names. Raises what ``schema.upgrade`` raises."""
    schema.upgrade(database.engine)
    database.write(sync_standard_names)
