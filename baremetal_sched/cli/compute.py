"""``baremetal-sched compute``: take over servers from Nova, and move flavors to custom resource classes."""

import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

import click

from baremetal_sched.cli.options import common_options, make_settings, opened, refusal_of
from baremetal_sched.compute import flavor_migration, importing, upgrade_checks
from baremetal_sched.compute.flavor_migration import Finding, Selection, Verdict

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
        except (click.ClickException, click.exceptions.Exit):
            raise
        except Exception as error:
            refusal = refusal_of(error)
            click.echo(traceback.format_exc() if refusal is None else f"baremetal-sched: {refusal}", err=True)
            sys.exit(FAILED)


@click.group()
def compute() -> None:
    """Take over servers from Nova, and move flavors to custom resource classes."""


@compute.command("import")
@click.argument("file", type=click.File("rb"))
@common_options
def import_(file: IO[bytes], config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Import servers, flavors and key pairs of a Nova from FILE ("-": standard input).

    FILE is a JSON object with "servers", "flavors" and "keypairs": the lists that Nova answers to GET
    /servers/detail?all_tenants=1 (microversion 2.47 or later), /flavors/detail (2.61 or later) and /os-keypairs. The
    machines have to be enrolled here. Items that cannot be imported are skipped and listed. The command can be
    repeated.
    """
    settings = make_settings(config_files, database, debug)
    with opened(settings) as found:
        report = importing.import_document(found, settings, importing.parse(file.read()))
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
@common_options
def migrate_flavors(
    everything: bool,
    host: str | None,
    node: str | None,
    resource_class: str | None,
    dry_run: bool,
    config_files: tuple[str, ...],
    database: str | None,
    debug: bool,
) -> None:
    """Add the resource class of its node to the flavor of each server, and claim the node for it.

    Only servers without a custom class are changed, and only their own copies of flavors. The command can be
    interrupted and repeated. Conductors do the same when they start.

    Exit codes: 0 done; 1 no such live conductor or node; 2 several servers on one node; 3 invalid arguments; 255
    failure.
    """
    if everything and (host or node):
        raise _BadArguments("--all cannot be combined with --host or --node.")
    if "" in (host, node, resource_class):
        raise _BadArguments("--host, --node and --resource-class need a value.")
    selection = Selection(host, node, resource_class)
    settings = make_settings(config_files, database, debug)
    with opened(settings) as found:
        if not flavor_migration.is_there(found, settings, selection):
            click.echo("No such live conductor or node, or no nodes at all.")
            raise click.exceptions.Exit(NOTHING_FOUND)
        run = flavor_migration.survey if dry_run else flavor_migration.migrate
        counts = _report(run(found, settings, selection))
    if counts[Verdict.SEVERAL]:
        raise click.exceptions.Exit(SEVERAL_SERVERS)
    if counts[Verdict.FAILED]:
        raise click.exceptions.Exit(FAILED)


def _report(findings: Iterator[Finding]) -> Counter[Verdict]:
    """Print a line for each finding that has a message; return the number of findings by verdict."""
    counts: Counter[Verdict] = Counter()
    for finding in findings:
        counts[finding.verdict] += 1
        if finding.verdict is not Verdict.DONE:
            prefix = _PREFIXES.get(finding.verdict, "skipped")
            click.echo(f"{prefix}: {finding}")
    skipped = counts.total() - counts[Verdict.DONE] - counts[Verdict.MIGRATED] - counts[Verdict.OLD]
    changed = f"{counts[Verdict.OLD]} to migrate" if counts[Verdict.OLD] else f"{counts[Verdict.MIGRATED]} migrated"
    click.echo(f"{changed}, {counts[Verdict.DONE]} with nothing to do, {skipped} skipped")
    return counts


_PREFIXES = {Verdict.OLD: "would migrate", Verdict.MIGRATED: "migrated", Verdict.FAILED: "failed"}


@compute.command(cls=_Command)
@common_options
def status(config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Report whether flavors can be switched to custom resource classes now.

    Exit codes: 0 yes; 1 yes, with a warning; 2 no, servers have to be migrated first; 3 invalid arguments; 255
    failure.
    """
    settings = make_settings(config_files, database, debug)
    with opened(settings) as found:
        checks = upgrade_checks.run(found, settings)
    for check in checks:
        line = f"{check.name}: {check.result.name.lower()}"
        click.echo(f"{line}. {check.details}" if check.details else line)
    worst = max(check.result for check in checks)
    if worst:
        raise click.exceptions.Exit(int(worst))
