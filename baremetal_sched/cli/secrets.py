"""``baremetal-sched secrets``: the secrets in the database, and their encryption keys."""

from typing import TYPE_CHECKING

import click

from baremetal_sched import commands
from baremetal_sched.cli.options import configured, opened

if TYPE_CHECKING:
    from baremetal_sched.db.resealing import ResealOutcome
    from baremetal_sched.db.transaction import Database
    from baremetal_sched.settings import Settings


@click.group()
def secrets() -> None:
    """Manage the encryption of secrets in the database. The service may be running."""


@secrets.command("generate-key")
def generate_key() -> None:
    """Print a new key: a line for the file that [database] secrets_key_file names."""
    from baremetal_sched.db import keyring

    click.echo(keyring.generate_key())


@secrets.command()
@configured
def check(settings: "Settings") -> None:
    """Count encrypted secrets. Exits 1 if a secret is not encrypted or a key is missing."""
    from baremetal_sched.db import resealing
    from baremetal_sched.db.sealing import keyring_for

    with opened(settings) as database:
        ids, counted = keyring_for(database.engine.dialect).ids, resealing.count(database)
    total = dict.fromkeys((resealing.FIRST, resealing.OTHER, resealing.PLAIN, resealing.UNKNOWN), 0)
    for column, states in counted.items():
        counts = [f"{number} {state}" for state in total if (number := states[state])]
        total = {state: number + states[state] for state, number in total.items()}
        if counts:
            click.echo(f"{column}: {', '.join(counts)}")
    click.echo(f"keys: {', '.join(ids) or 'none'}")
    click.echo(f"total: {', '.join(f'{number} {state}' for state, number in total.items())}")
    if total[resealing.PLAIN]:
        if not ids:
            click.echo(f"Set [database] secrets_key_file. This prints a key: {commands.GENERATE_KEY}", err=True)
        click.echo(f"To encrypt them, run: {commands.ENCRYPT_SECRETS}", err=True)
    if total[resealing.UNKNOWN]:
        click.echo("Put the missing keys back into the file that [database] secrets_key_file names.", err=True)
    if total[resealing.PLAIN] or total[resealing.UNKNOWN]:
        raise click.exceptions.Exit(1)


@secrets.command()
@configured
def encrypt(settings: "Settings") -> None:
    """Encrypt secrets that were stored without a key. The command can be interrupted and repeated."""
    from oslo_config import cfg

    from baremetal_sched.db import resealing
    from baremetal_sched.db.sealing import seals

    with opened(settings) as found:
        _require_keys(found, "encrypted")
        if not seals(found.engine.dialect):
            raise cfg.Error(
                "Cannot encrypt while [DEFAULT] pin_release_version is set: that release could not read the secrets. "
                "Finish the upgrade, remove the setting, and run this again."
            )
        _report(resealing.reseal(found, resealing.encrypted), "encrypted")


@secrets.command()
@configured
def rotate(settings: "Settings") -> None:
    """Re-encrypt all secrets with the first key. The other keys can be removed then."""
    from baremetal_sched.db import resealing

    with opened(settings) as found:
        _require_keys(found, "rotated")
        _report(resealing.reseal(found, resealing.rotated), "encrypted with the first key")


@secrets.command()
@configured
def decrypt(settings: "Settings") -> None:
    """Decrypt all secrets, for a release without encryption, and log out all people who logged in with Keystone. Stop
    the service first."""
    from sqlalchemy import delete

    from baremetal_sched.db import resealing
    from baremetal_sched.db.models import PageSession

    with opened(settings) as found:
        _require_keys(found, "decrypted")
        # Their tokens are never stored plain.
        found.change(lambda connection: connection.execute(delete(PageSession).where(PageSession.tokens.is_not(None))))
        _report(resealing.reseal(found, resealing.decrypted), "decrypted")


def _require_keys(database: "Database", what: str) -> None:
    from oslo_config import cfg

    from baremetal_sched.db.sealing import keyring_for

    if not keyring_for(database.engine.dialect).ids:
        raise cfg.Error(f"Nothing can be {what}: [database] secrets_key_file is not set.")


def _report(outcome: "ResealOutcome", what: str) -> None:
    click.echo(f"{outcome.changed} values {what}")
    if outcome.missed:
        click.echo(f"{outcome.missed} values were changed by the service during the run: run this again", err=True)
    if outcome.failed:
        why = f"they are too large, or their keys are missing, which this shows: {commands.CHECK_SECRETS}"
        click.echo(f"{outcome.failed} values could not be processed: {why}", err=True)
    if outcome.missed or outcome.failed:
        raise click.exceptions.Exit(1)
