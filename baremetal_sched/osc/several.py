"""Options of requests for several machines: how these are spread over domains."""

import argparse
from typing import Any

from baremetal_sched.osc.find import positive


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add --spread and --pack."""
    parser.add_argument(
        "--spread", type=_spread, metavar="<level>:<number>", help="At most this many in each domain of the level."
    )
    parser.add_argument("--pack", type=word, metavar="<level>", help="All in one domain of the level.")


def rules_of(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the members of a body that say how machines are spread."""
    pack = {"by": parsed_args.pack} if parsed_args.pack else None
    return {name: value for name, value in (("spread", parsed_args.spread), ("pack", pack)) if value}


def _spread(text: str) -> dict[str, Any]:
    level, _, number = text.partition(":")
    return {"by": word(level), "at_most": positive(number or "1")}


def word(text: str) -> str:
    """Return the text; for argparse, to which "" is an error."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return text
