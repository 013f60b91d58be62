"""``baremetal-sched import``: move in from Ironic and Placement."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from baremetal_sched.cli.options import configured, mistakes, opened
from baremetal_sched.cli.policy import known_rules

if TYPE_CHECKING:
    from baremetal_sched.moving.findings import ImportFinding, ImportReport
    from baremetal_sched.moving.run import Progress
    from baremetal_sched.settings import Settings

_file = click.Path(dir_okay=False, path_type=Path)


@click.command("import")
@click.option("--from-ironic-db", "ironic_url", metavar="URL", help="Database of Ironic 35 to 39.")
@click.option("--from-placement-db", "placement_url", metavar="URL", help="Database of Placement 14 to 16.")
@click.option("--dry-run", is_flag=True, help="Report what would be imported, and each contradiction; write nothing.")
@click.option("--frozen", is_flag=True, help="Refuse if Placement changes during the run: for the last one.")
@click.option("--adopt", multiple=True, metavar="KIND[:UUID]", help="Resolve contradictions as the report says.")
@click.option("--replace-interface", "replaced", multiple=True, metavar="OLD=NEW", help="Give nodes another driver.")
@click.option(
    "--in-flight",
    type=click.Choice(["refuse", "failed"]),
    default="refuse",
    help="Nodes with work in flight: refuse them (the default), or count their work as failed.",
)
@click.option("--report", "report_file", type=_file, help="Write the report to this file, too.")
@click.option("--ironic-conf", type=_file, help="Report the options in this file that do not exist here.")
@click.option(
    "--policy", "policy_path", type=_file, help="Report the access rules in this file that do not exist here."
)
@click.option("--finish", is_flag=True, help="End the mirror: this service is in charge from now on.")
@click.option("--claims", is_flag=True, help="List the claims that were made here since --finish, for going back.")
@configured
def import_(
    ironic_url: str | None,
    placement_url: str | None,
    dry_run: bool,
    frozen: bool,
    adopt: tuple[str, ...],
    replaced: tuple[str, ...],
    in_flight: str,
    report_file: Path | None,
    ironic_conf: Path | None,
    policy_path: Path | None,
    finish: bool,
    claims: bool,
    settings: "Settings",
) -> None:
    """Import everything that an Ironic and a Placement have, reading their databases.

    From the first import on, this database is a mirror that only further imports change: each writes what differs.
    --finish ends that. An import can be interrupted and repeated. Exits 1 if something contradicts; then nothing was
    written.
    """
    if finish or claims:
        _end(settings, finish=finish)
        return
    if not ironic_url or not placement_url:
        raise click.UsageError("Give --from-ironic-db and --from-placement-db, or --finish, or --claims.")
    from baremetal_sched.moving import importing
    from baremetal_sched.moving.decisions import Choices, Replacements
    from baremetal_sched.moving.findings import Adoptions

    with mistakes():
        choices, adoptions = Choices(Replacements.of(replaced), in_flight == "failed"), Adoptions.of(adopt)
        label = f"{_label(ironic_url)} and {_label(placement_url)}"
        remarks = _remarks(ironic_conf, policy_path)
    request = importing.Request(ironic_url, placement_url, label, choices, adoptions, frozen, dry_run)
    with opened(settings, imports=True) as database:
        report = importing.run(database, settings, request, _progress())
    for remark in remarks:
        report.add(remark)
    _show(report, dry_run, report_file)
    if report.blocking:
        raise click.exceptions.Exit(1)


def _end(settings: "Settings", *, finish: bool) -> None:
    """End the mirror, or list what was claimed since."""
    from baremetal_sched.moving import importing

    with opened(settings, imports=True) as found:
        if finish:
            importing.finish(found)
            click.echo("The database is no longer a mirror. Start the conductors.")
        else:
            for line in found.snapshot(lambda session: list(importing.claims_since(session))):
                click.echo(line)


def _label(url: str) -> str:
    """Return the database of a URL without user and password, which may change. Raises ValueError."""
    from baremetal_sched import logs
    from baremetal_sched.db.engine import database_url

    return logs.url_for_people(database_url(url)._replace(username=None, password=None).render_as_string())


def _remarks(ironic_conf: Path | None, policy_path: Path | None) -> "list[ImportFinding]":
    from baremetal_sched.moving import given_files

    found = [] if ironic_conf is None else list(given_files.options(ironic_conf))
    return found if policy_path is None else found + list(given_files.policies(policy_path, known_rules()))


def _show(report: "ImportReport", dry_run: bool, file: Path | None) -> None:
    lines = [*report.lines()]
    if report.blocking:
        lines.append(f"{len(report.blocking)} findings must be resolved first. Nothing was written.")
    elif dry_run:
        taken = ", ".join(f"{number} {name}" for name, number in report.would_take.items() if number)
        lines.append(f"Would take: {taken or 'nothing'}.")
    else:
        written = ", ".join(f"{number} {name}" for name, number in sorted(report.written.items()))
        lines.append(f"Rows written: {report.written.total()}{f' ({written})' if written else ''}.")
    for line in lines:
        click.echo(line)
    if file is not None:
        file.write_text("".join(f"{line}\n" for line in lines))


def _progress() -> "Progress":
    """Return what shows the progress: one line that is written over on a terminal, a line for each table elsewhere."""
    done: dict[str, int] = {}

    def on_terminal(table: str, rows: int) -> None:
        done[table] = done.get(table, 0) + rows
        click.echo(f"\r\x1b[K{table}: {done[table]}", err=True, nl=False)

    def in_lines(table: str, rows: int) -> None:
        if table not in done:
            click.echo(f"{table} …", err=True)
        done[table] = done.get(table, 0) + rows

    return on_terminal if sys.stderr.isatty() else in_lines
