"""``baremetal-sched node``: questions about single nodes."""

from typing import TYPE_CHECKING

import click

from baremetal_sched.cli.options import configured, opened

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from baremetal_sched.baremetal.matching.node_explanation import Finding, NodeExplanation
    from baremetal_sched.settings import Settings


@click.group()
def node() -> None:
    """Examine single nodes."""


@node.command()
@click.argument("name")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.")
@configured
def why(name: str, form: str, settings: "Settings") -> None:
    """Explain whether the node NAME (or UUID) is offered and, if not, each reason and its remedy.

    The exit status is 0 whether the node is offered or not, and 1 if it does not exist.
    """
    from baremetal_sched.baremetal.conductors.ownership import live_members
    from baremetal_sched.baremetal.nodes.nodes import find
    from baremetal_sched.scheduling.queue import explain_node

    def explain(session: "Session") -> "NodeExplanation":
        return explain_node(session, find(session, name), live_members(session, settings), settings)

    with opened(settings) as database:
        found = database.read(explain)
    click.echo(_as_json(found) if form == "json" else _as_text(found))


def _as_json(explanation: "NodeExplanation") -> str:
    import orjson

    document = {
        "uuid": explanation.uuid,
        "name": explanation.name,
        "offered": explanation.is_offered,
        "resource_class": explanation.resource_class,
        "reasons": explanation.reasons,
        "remarks": explanation.remarks,
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def _as_text(explanation: "NodeExplanation") -> str:
    who = f"Node {explanation.name} ({explanation.uuid})" if explanation.name else f"Node {explanation.uuid}"
    if explanation.is_offered:
        lines = [f"{who} is offered, as one {explanation.resource_class}."]
    else:
        lines = [f"{who} is not offered.", *map(_line, explanation.reasons)]
    if explanation.remarks:
        lines += ["Besides:", *map(_line, explanation.remarks)]
    return "\n".join(lines)


def _line(finding: "Finding") -> str:
    remedy = finding.remedy.replace("\n", "\n    ")
    return f"- {finding.reason}\n  To do: {remedy}"
