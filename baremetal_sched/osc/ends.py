"""Options of the end of a claim: when its machines go back by themselves."""

import argparse
from typing import Any

from baremetal_sched.osc.holds import moment
from baremetal_sched.osc.tables import Document, TextColumn, TimeColumn
from baremetal_sched.osc.waiting import clock, duration

#: The states of an end that has come.
ENDED = ("ending", "late")


def add_end(parser: argparse.ArgumentParser, *, required: bool = False) -> Any:
    """Add --until and --for, of which one can be given; return their group."""
    end = parser.add_mutually_exclusive_group(required=required)
    end.add_argument(
        "--until",
        type=moment,
        metavar="<time>",
        help="When the machines go back by themselves: 2026-12-04T16:00, in the time zone of this host unless it names "
        "another.",
    )
    end.add_argument(
        "--for",
        type=duration,
        metavar="<time>",
        help="How long after the claim has all its machines they go back by themselves: 90 (seconds), 30m, 8h, 2d.",
    )
    return end


def add_new_end(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add the options of the end that a claim gets: --until, --for and --no-end."""
    add_end(parser, required=required).add_argument(
        "--no-end", action="store_true", help="Keep the machines until somebody gives them back."
    )


def end_of(parsed_args: argparse.Namespace) -> Document:
    """Return the members of a body that name the end; {} if no option does."""
    if getattr(parsed_args, "no_end", False):
        return {"until": None}
    return {name: value for name in ("until", "for") if (value := getattr(parsed_args, name)) is not None}


def until_column(claim: Document) -> Any:
    """Return the cell of a table that says when a claim ends, or how long it will last."""
    if claim["until"] is None and claim["for"] is not None:
        return TextColumn(f"for {clock(claim['for'])}")
    return TimeColumn(claim["until"])
