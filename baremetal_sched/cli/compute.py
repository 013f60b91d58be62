"""``baremetal-sched compute``: take over servers from Nova, and move flavors to custom resource classes."""

import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from baremetal_sched.cli.options import configured, opened, refusal_of

if TYPE_CHECKING:
    from baremetal_sched.compute.migration.flavor_migration import MigrationFinding, MigrationVerdict
    from baremetal_sched.settings import Settings

# Exit codes of ``compute migrate-flavors``, the same as nova-manage's.
NOTHING_FOUND, SEVERAL_SERVERS, BAD_ARGUMENTS = 1, 2, 3

#: The command failed. No other outcome has this code.
FAILED = 255


class _BadArguments(click.UsageError):
    exit_code = BAD_ARGUMENTS


class _Command(click.Command):
    """A command with exit codes of its own, for bad arguments and failures, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _BadArguments(error.format_message(), ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except click.ClickException as error:
            if error.exit_code != click.ClickException.exit_code:
                raise
            error.show()
            sys.exit(FAILED)
        except Exception as error:
            refusal = refusal_of(error)
            click.echo(traceback.format_exc() if refusal is None else f"Error: {refusal}", err=True)
            sys.exit(FAILED)


@click.group()
def compute() -> None:
    """Take over servers from Nova, and move flavors to custom resource classes."""


@compute.command("import")
@click.argument("file", type=click.File("rb"))
@configured
def import_(file: IO[bytes], settings: "Settings") -> None:
    """Import servers, flavors, key pairs and server groups of a Nova from FILE ("-": standard input).

    FILE is a JSON object with "servers", "flavors", "keypairs" and "server_groups": the lists that Nova answers to GET
    /servers/detail?all_tenants=1 (microversion 2.47 or later), /flavors/detail (2.61 or later), /os-keypairs and
    /os-server-groups?all_projects=1 (2.64 or later). The machines must be enrolled here. Items that cannot be imported
    are skipped and listed. The command can be repeated.
    """
    from baremetal_sched.compute.migration import importing

    with opened(settings) as database:
        report = importing.import_document(database, settings, importing.parse(file.read()))
    for line in report.skipped:
        click.echo(f"skipped {line}")
    for line in report.remarks:
        click.echo(line)
    for kind, count in report.imported.items():
        click.echo(
            f"{kind}: {count} imported, {report.present[kind]} already present, {report.skipped_of[kind]} skipped"
        )


@compute.command("migrate-flavors", cls=_Command)
@click.option("--all", "everything", is_flag=True, help="Servers on all nodes. This is the default.")
@click.option("--host", help="Servers on the nodes of this conductor.")
@click.option("--node", help="The server on this node (UUID or name).")
@click.option("--resource-class", metavar="RC", help="Only servers on nodes of this resource class.")
@click.option("--dry-run", is_flag=True, help="Report what would be done, without changing anything.")
@configured
def migrate_flavors(
    everything: bool,
    host: str | None,
    node: str | None,
    resource_class: str | None,
    dry_run: bool,
    settings: "Settings",
) -> None:
    """Add the resource class of its node to the flavor of each server, and claim the node for it.

    Only servers without a custom class are changed, and only their own copies of flavors. The command can be
    interrupted and repeated. Conductors do the same when they start.

    Exit codes: 0 done; 1 no live conductor or no node of this name; 2 several servers on one node; 3 invalid arguments;
    255 failure.
    """
    from baremetal_sched.compute.migration import flavor_migration

    if everything and (host or node):
        raise _BadArguments("--all cannot be combined with --host or --node.")
    if "" in (host, node, resource_class):
        raise _BadArguments("--host, --node and --resource-class need a value.")
    selection = flavor_migration.ServerSelection(host, node, resource_class)
    with opened(settings) as database:
        if not flavor_migration.is_there(database, settings, selection):
            click.echo("The conductor is not alive, the node does not exist, or there are no nodes at all.")
            raise click.exceptions.Exit(NOTHING_FOUND)
        run = flavor_migration.survey if dry_run else flavor_migration.migrate
        counts = _report(run(database, settings, selection))
    verdicts = flavor_migration.MigrationVerdict
    if counts[verdicts.SEVERAL]:
        raise click.exceptions.Exit(SEVERAL_SERVERS)
    if counts[verdicts.FAILED]:
        raise click.exceptions.Exit(FAILED)


def _report(findings: "Iterator[MigrationFinding]") -> "Counter[MigrationVerdict]":
    """Print a line for each finding that has a message; return the number of findings by verdict."""
    from baremetal_sched.compute.migration.flavor_migration import MigrationVerdict

    prefixes = {
        MigrationVerdict.OLD: "would migrate",
        MigrationVerdict.MIGRATED: "migrated",
        MigrationVerdict.FAILED: "failed",
    }
    counts: Counter[MigrationVerdict] = Counter()
    for finding in findings:
        counts[finding.verdict] += 1
        if finding.verdict is not MigrationVerdict.DONE:
            prefix = prefixes.get(finding.verdict, "skipped")
            click.echo(f"{prefix}: {finding}")
    done, migrated, old = (
        counts[verdict] for verdict in (MigrationVerdict.DONE, MigrationVerdict.MIGRATED, MigrationVerdict.OLD)
    )
    changed = f"{old} to migrate" if old else f"{migrated} migrated"
    click.echo(f"{changed}, {done} with nothing to do, {counts.total() - done - migrated - old} skipped")
    return counts


@compute.command(cls=_Command)
@configured
def status(settings: "Settings") -> None:
    """Report whether flavors can be switched to custom resource classes now.

    Exit codes: 0 yes; 1 yes, with a warning; 2 no, servers must be migrated first; 3 invalid arguments; 255
    failure.
    """
    from baremetal_sched.compute.migration import upgrade_checks

    with opened(settings) as database:
        checks = upgrade_checks.run(database, settings)
    for check in checks:
        line = f"{check.name}: {check.result.name.lower()}"
        click.echo(f"{line}. {check.details}" if check.details else line)
    worst = max(check.result for check in checks)
    if worst:
        raise click.exceptions.Exit(int(worst))
