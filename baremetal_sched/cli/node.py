"""``baremetal-sched node``: questions about single nodes."""

import click
import orjson

from baremetal_sched.baremetal.conductors.ownership import live_members
from baremetal_sched.baremetal.matching.explanation import Explanation, Finding, explain
from baremetal_sched.cli.options import common_options, make_settings, opened


@click.group()
def node() -> None:
    """Examine single nodes."""


@node.command()
@click.argument("name")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.")
@common_options
def why(name: str, form: str, config_files: tuple[str, ...], database: str | None, debug: bool) -> None:
    """Explain whether the node NAME (or UUID) is offered and, if not, each reason and its remedy.

    The exit status is 0 whether the node is offered or not, and 1 if it does not exist.
    """
    settings = make_settings(config_files, database, debug)
    with opened(settings) as found_database:
        found = found_database.read(lambda session: explain(session, name, live_members(session, settings)))
    click.echo(_as_json(found) if form == "json" else _as_text(found))


def _as_json(found: Explanation) -> str:
    document = {
        "uuid": found.uuid,
        "name": found.name,
        "offered": found.is_offered,
        "resource_class": found.resource_class,
        "reasons": found.reasons,
        "remarks": found.remarks,
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def _as_text(found: Explanation) -> str:
    who = f"Node {found.name} ({found.uuid})" if found.name else f"Node {found.uuid}"
    if found.is_offered:
        lines = [f"{who} is offered, as one {found.resource_class}."]
    else:
        lines = [f"{who} is not offered.", *map(_line, found.reasons)]
    if found.remarks:
        lines += ["Besides:", *map(_line, found.remarks)]
    return "\n".join(lines)


def _line(finding: Finding) -> str:
    return f"- {finding.reason}\n  To do: {finding.remedy}"
