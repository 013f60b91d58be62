"""openstack scheduling explain"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn
from osc_lib.command import command

from baremetal_sched.osc.client import Client, FitsOrNot, UsageError, client_of, path_of, server
from baremetal_sched.osc.ends import add_end, end_of
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.names import as_written, classes_of
from baremetal_sched.osc.query import (
    add_machine_options,
    add_query_options,
    candidate_query,
    machine_query,
    trait_entries,
    written_classes,
)
from baremetal_sched.osc.tables import (
    CountsColumn,
    HeldColumn,
    NestedColumn,
    SentenceColumn,
    is_table,
    lines,
    plain,
    wrapped,
)

#: In this order, and what there may be besides behind it.
_ORDER = (
    "verdict",
    "summary",
    "earliest",
    "earliest_reason",
    "wanted",
    "fitting",
    "nodes",
    "conditions",
    "relaxations",
    "unknown",
    "busy",
    "groups",
    "held",
)

#: What most explanations have in these fields.
_DEFAULTS = {"exact": True, "sampled": False, "wanted": 1}


class Explain(FitsOrNot, command.ShowOne):
    """Explain why a request finds what it finds

    The request is a query of allocation candidates (--resource, --required, ... or --query), a class and traits of
    machines (--class, --trait, ...), a server (--flavor, --image), or an allocation of the bare metal API (--class
    with --candidate-node or --owner). Nothing is claimed. The exit status is 0 if as many machines as were wanted
    fit, and 3 if not.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        add_request_options(parser)
        parser.add_argument("--wanted", type=positive, metavar="<number>", help="How many machines are wanted.")
        parser.add_argument(
            "--earliest", action="store_true", help="Say when the request could be had, by the ends that are known."
        )
        add_end(parser)
        parser.add_argument("--booking", metavar="<uuid>", help="UUID of the booking under which it is requested.")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        """Return the fields of the explanation and their values."""
        client = client_of(self.app)
        body = request_body(client, parsed_args)
        if parsed_args.wanted is not None:
            body["wanted"] = parsed_args.wanted
        body |= end_of(parsed_args) | ({"earliest": True} if parsed_args.earliest else {})
        body |= {"booking": parsed_args.booking} if parsed_args.booking else {}
        document = client.request("scheduling", "POST", "/explanations", body)
        self.fits = document["fitting"] >= document["wanted"]
        if is_table(parsed_args):
            document = as_written(_without_defaults(document), written_classes(parsed_args))
        return fields_of(document, _ORDER)


def add_request_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of all requests that can be explained."""
    add_query_options(parser)
    server = parser.add_argument_group("a server")
    server.add_argument("--flavor", metavar="<flavor>", help="Id or name of the flavor.")
    server.add_argument("--image", metavar="<image>", help="Id or name of the image.")
    server.add_argument("--boot-from-volume", action="store_true", help="The root disk is a volume.")
    machine = parser.add_argument_group("a class and traits of machines")
    add_machine_options(machine)  # type: ignore[arg-type] # it adds arguments as a parser does
    allocation = parser.add_argument_group("an allocation of the bare metal API, with --class")
    allocation.add_argument(
        "--candidate-node",
        dest="candidate_nodes",
        action="append",
        metavar="<node>",
        help="A node that may be taken. Repeatable.",
    )
    allocation.add_argument("--owner", metavar="<project>", help="Only nodes that this project owns or leases.")


def is_request(parsed_args: argparse.Namespace) -> bool:
    """Return whether any of the options of a request is given."""
    options = ("flavor", "image", "boot_from_volume", "resource_class", "candidate_nodes", "owner")
    traits = (parsed_args.traits, parsed_args.without_traits, parsed_args.any_traits)
    return (
        candidate_query(parsed_args) is not None or any(traits) or any(getattr(parsed_args, name) for name in options)
    )


def request_body(client: Client, parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the body of a request to explain. Raises UsageError if the options ask for none, or for several."""
    query = candidate_query(parsed_args)
    machine = [parsed_args.traits, parsed_args.without_traits, parsed_args.any_traits, parsed_args.candidate_nodes]
    kinds = {
        "--query or --resource": query is not None,
        "--flavor": parsed_args.flavor is not None,
        "--class": parsed_args.resource_class is not None,
    }
    chosen = [name for name, is_given in kinds.items() if is_given]
    if len(chosen) != 1:
        raise UsageError(
            f"These are different requests: {' and '.join(chosen)}. Give one." if chosen
            else "Specify the request: --resource CLASS=AMOUNT, --query, --flavor, or --class."
        )  # fmt: skip
    if parsed_args.resource_class is None and (any(machine) or parsed_args.owner):
        raise UsageError("--trait, --without-trait, --any-trait, --candidate-node and --owner go with --class.")
    if parsed_args.flavor is None and (parsed_args.image or parsed_args.boot_from_volume):
        raise UsageError("--image and --boot-from-volume go with --flavor.")
    if query is not None:
        return {"query": query}
    if parsed_args.flavor is not None:
        return server(client, parsed_args.flavor, parsed_args.image, parsed_args.boot_from_volume)
    if not (parsed_args.candidate_nodes or parsed_args.owner):
        return {"query": machine_query(parsed_args)}
    machine_options = {"traits": trait_entries(parsed_args), "candidate_nodes": parsed_args.candidate_nodes}
    optional = {**machine_options, "owner": parsed_args.owner}
    return {"resource_class": parsed_args.resource_class, **{name: each for name, each in optional.items() if each}}


def _without_defaults(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that say something: those of a table for people."""
    return {
        name: value
        for name, value in document.items()
        if value not in (None, "", [], {}) and _DEFAULTS.get(name, document) != value
    }


def fields_of(document: Mapping[str, Any], order: Iterable[str]) -> tuple[list[str], list[Any]]:
    """Return the names of fields and their values, the ones in ``order`` first."""
    names = [name for name in order if name in document]
    names += [name for name in document if name not in names]
    return names, [_cell(name, document[name]) for name in names]


def _cell(name: str, value: Any) -> Any:
    if isinstance(value, str) or value is None:
        return SentenceColumn(value)
    if name == "busy":
        return CountsColumn(value)
    if name == "parts":
        return _Parts(value)
    return _LINES[name](value) if name in _LINES else NestedColumn(value) if isinstance(value, (list, dict)) else value


def _wrapped_lines(texts: Iterable[str]) -> str:
    return wrapped(lines(texts))


class ConditionsColumn(FormattableColumn[list[dict[str, Any]]]):
    """A line for each condition that machines fail: how many do, and how many only it rules out."""

    def human_readable(self) -> str:
        failing = (each for each in self._value if each.get("holds") is not None or each["fails"])
        return _wrapped_lines(map(self._line, failing))

    @staticmethod
    def _line(condition: Mapping[str, Any]) -> str:
        text = plain(condition["text"])
        if "holds" in condition:
            return f"{'yes' if condition['holds'] else 'no':<4}{text}"
        only = f", {condition['only_this']} only this" if condition["only_this"] else ""
        aside = "" if condition["counts"] else " (does not count)"
        return f"{text}: {condition['fails']} fail{only}{aside}"


class Relaxations(FormattableColumn[list[dict[str, Any]]]):
    """A line for each change of the request that helps."""

    def human_readable(self) -> str:
        return _wrapped_lines(
            f"without {' and '.join(plain(name) for name in each['drop'])}"
            + (f": {each['would_fit']} would fit" if "would_fit" in each else "")
            for each in self._value
        )


class UnknownColumn(FormattableColumn[list[dict[str, Any]]]):
    """A line for each unknown name."""

    def human_readable(self) -> str:
        return _wrapped_lines(map(self._line, self._value))

    @staticmethod
    def _line(unknown: Mapping[str, Any]) -> str:
        meant = " or ".join(f"{plain(name)} ({count} machines)" for name, count in unknown["did_you_mean"])
        return f"{plain(unknown['name'])}: did you mean {meant}?" if meant else f"{plain(unknown['name'])} is not known"


class Groups(FormattableColumn[list[dict[str, Any]]]):
    """A line for each conductor group whose nodes no conductor serves."""

    def human_readable(self) -> str:
        return _wrapped_lines(
            f"{plain(each['conductor_group']) or '(none)'}: {each['conductors_alive']} conductors alive, "
            f"{each['fitting_if_served']} nodes would fit if served"
            for each in self._value
        )


class _Parts(FormattableColumn[dict[str, Any]]):
    """The result for each part of a request."""

    def human_readable(self) -> str:
        return _wrapped_lines(
            f"{plain(name)}: {plain(part.get('verdict'))}, {part.get('fitting')} of {part.get('nodes')} fit"
            for name, part in self._value.items()
        )


_LINES: dict[str, type[FormattableColumn[Any]]] = {
    "conditions": ConditionsColumn,
    "relaxations": Relaxations,
    "unknown": UnknownColumn,
    "groups": Groups,
    "held": HeldColumn,
}


_NODE_ORDER = (
    *("node", "name", "resource_class", "offered", "next_booking", "verdict", "summary", "conditions", "relaxations"),
    *("reasons", "remarks"),
)


class ExplainNode(FitsOrNot, command.ShowOne):
    """Explain why a node is or is not on offer, or does or does not fit a request

    With the options of a request (as for 'openstack scheduling explain'), the output says of each condition whether it
    holds. The exit status is 0 if the node fits the request or, without one, if placement offers it now, and 3 if not.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("node", metavar="<node>", help="UUID or name of the node.")
        add_request_options(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        """Return the fields of the answer and their values."""
        client = client_of(self.app)
        if is_request(parsed_args):
            body = request_body(client, parsed_args)
            document = client.request("scheduling", "POST", path_of("explanations", "nodes", parsed_args.node), body)
            self.fits = document["verdict"] == "fits"
        else:
            document = client.get("scheduling", path_of("nodes", parsed_args.node, "availability"))
            self.fits = document["offered"]
        if is_table(parsed_args):
            document = as_written(_without_defaults(document), written_classes(parsed_args) or classes_of(client))
        names, values = fields_of(document, _NODE_ORDER)
        return names, [
            Findings(document[name]) if name in ("reasons", "remarks") else value
            for name, value in zip(names, values, strict=True)
        ]


class Findings(FormattableColumn[list[dict[str, str]]]):
    """The reasons that keep a node from use, each with its remedy."""

    def human_readable(self) -> str:
        return _wrapped_lines(map(self._text, self._value))

    @staticmethod
    def _text(finding: Mapping[str, str]) -> str:
        # A command in a remedy is on a line of its own.
        return lines(plain(line) for line in f"{finding['reason']} {finding['remedy']}".strip().split("\n"))
