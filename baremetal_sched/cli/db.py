"""``baremetal-sched db``: manage the schema of the database."""

import click

from baremetal_sched.cli.options import common_options, make_settings
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.names import sync_standard_names


@click.group()
def db() -> None:
    """Manage the schema of the database."""


@db.command()
@common_options
def upgrade(config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Upgrade the schema to this release, and add its standard traits and resource classes."""
    opened = Database(make_settings(config_files, database, debug))
    prepare(opened)
    click.echo(f"schema {schema.current(opened.engine)}")


@db.command()
@click.argument("revision")
@common_options
def downgrade(revision: str, config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Downgrade the schema to REVISION ("base": remove everything). Data that only newer schemas hold is lost."""
    opened = Database(make_settings(config_files, database, debug))
    schema.downgrade(opened.engine, revision)
    click.echo(f"schema {schema.current(opened.engine) or 'none'}")


@db.command()
@common_options
def revision(config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Show the schema revisions of the database and of this release."""
    opened = Database(make_settings(config_files, database, debug))
    click.echo(f"database: {schema.current(opened.engine) or 'none'}\nrelease: {schema.head()}")


@db.command()
@common_options
def check(config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Verify derived data, and compare nodes with their resource providers. Exits 1 if anything is inconsistent."""
    from baremetal_sched.baremetal.provider.audit import audit

    opened = Database(make_settings(config_files, database, debug))
    schema.require_served(opened.engine)
    findings = opened.snapshot(audit)
    for finding in findings:
        click.echo(finding)
    if findings:
        raise click.exceptions.Exit(1)
    click.echo("ok")


def prepare(database: Database) -> None:
    """Create or upgrade the schema, and add the standard names. Raises what ``schema.upgrade`` raises."""
    schema.upgrade(database.engine)
    database.write(sync_standard_names)
