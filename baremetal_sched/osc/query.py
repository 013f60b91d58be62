"""Options of the command line as a query of allocation candidates, and proposals for names of classes and groups that
no machine has."""

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlencode

from keystoneauth1.exceptions import ClientException as NoAnswer
from osc_lib.exceptions import CommandError

from baremetal_sched.osc.client import Client, UsageError
from baremetal_sched.osc.names import placement_class

#: Where the options are collected: tuples of the group, the name of the option, and its value.
_ASKED = "asked"
_GROUP = "asked_group"
_SUFFIX = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class _Group(argparse.Action):
    """The options behind it belong to a request group."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, option: str | None = None
    ) -> None:
        if not _SUFFIX.fullmatch(value):
            raise argparse.ArgumentError(self, "up to 64 letters, digits, '_' and '-' are the name of a request group")
        setattr(namespace, _GROUP, value)


class _OfGroup(argparse.Action):
    """An option that belongs to the request group before it, or to the request as a whole."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, option: str | None = None
    ) -> None:
        before, group = getattr(namespace, _ASKED, None) or (), getattr(namespace, _GROUP, None) or ""
        setattr(namespace, _ASKED, [*before, (group, self.dest, value)])


def add_query_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that ask for candidates, as ``openstack allocation candidate list`` has them, and --query."""
    group = parser.add_argument_group("a query of allocation candidates")
    group.add_argument(
        "--resource", action=_OfGroup, metavar="<class>=<amount>", help="How much of a resource class is needed."
    )
    group.add_argument(
        "--required",
        action=_OfGroup,
        metavar="<trait>",
        help="A trait that is needed; A,B for one of them. Repeatable.",
    )
    group.add_argument(
        "--forbidden", action=_OfGroup, metavar="<trait>", help="A trait that must not be there. Repeatable."
    )
    group.add_argument(
        "--member-of",
        action=_OfGroup,
        metavar="<uuid>",
        help="An aggregate that the provider is in; A,B for one of them. Repeatable.",
    )
    group.add_argument("--in-tree", action=_OfGroup, metavar="<uuid>", help="Only providers of the tree of this one.")
    group.add_argument(
        "--group",
        action=_Group,
        metavar="<name>",
        help="Name of a request group: one provider must satisfy everything that follows. Choose any name.",
    )
    group.add_argument(
        "--group-policy",
        choices=("none", "isolate"),
        help="Whether request groups need different providers (isolate) or not (none).",
    )
    group.add_argument("--query", metavar="<query>", help="The query itself, as in 'resources=CUSTOM_GOLD:1'.")


def candidate_query(parsed_args: argparse.Namespace) -> str | None:
    """Return the query string (microversion 1.39) of the options, or None if they are not used.

    Raises UsageError if they contradict each other, or if an amount is invalid.
    """
    options: Sequence[tuple[str, str, str]] = getattr(parsed_args, _ASKED, None) or ()
    if parsed_args.query is not None:
        if options:
            raise UsageError("--query is the whole request: leave out --resource, --required and the like.")
        return str(parsed_args.query).removeprefix("?")
    last = getattr(parsed_args, _GROUP, None)
    if last and last not in {suffix for suffix, _, _ in options}:
        raise UsageError(
            f"--group {last} must be followed by --resource, --required and the like. It is a part of the query, and "
            "not a conductor group."
        )
    if not options:
        return None
    pairs: list[tuple[str, str]] = []
    for suffix in dict.fromkeys(suffix for suffix, _, _ in options):
        pairs += _of_group(suffix, [(name, value) for each, name, value in options if each == suffix])
    if parsed_args.group_policy:
        pairs.append(("group_policy", parsed_args.group_policy))
    return urlencode(pairs, safe=":,!")


def _of_group(suffix: str, options: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    values: dict[str, list[str]] = {}
    for name, value in options:
        values.setdefault(name, []).append(value)
    pairs = []
    if "resource" in values:
        pairs.append((f"resources{suffix}", ",".join(_amount(value) for value in values["resource"])))
    required = values.get("required", [])
    together = [trait for trait in required if "," not in trait]
    together += [f"!{trait}" for trait in values.get("forbidden", [])]
    if together:
        pairs.append((f"required{suffix}", ",".join(together)))
    pairs += [(f"required{suffix}", f"in:{traits}") for traits in required if "," in traits]
    pairs += [(f"member_of{suffix}", f"in:{uuids}" if "," in uuids else uuids) for uuids in values.get("member_of", [])]
    pairs += [(f"in_tree{suffix}", uuid) for uuid in values.get("in_tree", [])]
    return pairs


def _amount(value: str) -> str:
    name, separator, amount = value.replace(":", "=").partition("=")
    if not (name and separator and amount.isascii() and amount.isdecimal()):
        raise UsageError(f"--resource {value}: it must be CLASS=AMOUNT, as in CUSTOM_GOLD=1.")
    return f"{name}:{amount}"


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what a machine must be and have: --class, --trait and so on."""
    parser.add_argument("--class", dest="resource_class", metavar="<class>", help="The resource class of the node.")
    parser.add_argument(
        "--trait",
        dest="traits",
        action="append",
        default=[],
        metavar="<trait>",
        help="A trait that the node has. Repeatable.",
    )
    parser.add_argument(
        "--without-trait",
        dest="without_traits",
        action="append",
        default=[],
        metavar="<trait>",
        help="A trait that the node does not have. Repeatable.",
    )
    parser.add_argument(
        "--any-trait",
        dest="any_traits",
        action="append",
        default=[],
        metavar="<trait>,<trait>",
        help="The node has at least one of these traits. Repeatable.",
    )


def add_domain_option(parser: argparse.ArgumentParser, things: str = "nodes") -> None:
    """Add the filter by domain; ``things``: what the command lists."""
    parser.add_argument(
        "--domain",
        metavar="<level>:<name>",
        help=f"Only {things} in this domain or below it: rack:r3, or a UUID; rack: is for nodes in no rack.",
    )


def split(values: Sequence[str]) -> list[str]:
    """Return the items of comma lists, each once."""
    return list(dict.fromkeys(item.strip() for value in values for item in value.split(",") if item.strip()))


def trait_entries(parsed_args: argparse.Namespace) -> list[str]:
    """Return the traits of the machine options as an allocation has them: A, !A, in:A,B."""
    entries = split(parsed_args.traits)
    entries += [f"!{trait}" for trait in split(parsed_args.without_traits)]
    return entries + [f"in:{','.join(split([traits]))}" for traits in parsed_args.any_traits]


def machine_query(parsed_args: argparse.Namespace) -> str:
    """Return the query string of the machine options: one machine of --class, with the traits."""
    traits = trait_entries(parsed_args)
    together = ",".join(trait for trait in traits if not trait.startswith("in:"))
    pairs = [("resources", f"{placement_class(parsed_args.resource_class)}:1")]
    pairs += [("required", together)] if together else []
    pairs += [("required", trait) for trait in traits if trait.startswith("in:")]
    return urlencode(pairs, safe=":,!")


def only_query(parsed_args: argparse.Namespace) -> str:
    """Return the query string of a request by query options or by machine options. Raises UsageError for none, and for
    both."""
    query = candidate_query(parsed_args)
    if (query is None) == (parsed_args.resource_class is None):
        raise UsageError("Specify the request in one way: --resource CLASS=AMOUNT, --query, or --class.")
    if query is None:
        return machine_query(parsed_args)
    if trait_entries(parsed_args):
        raise UsageError("--trait, --without-trait and --any-trait go with --class. With others: --required.")
    return query


_TEXTS = {
    "resource_class": "No machine has the resource class {!r}.",
    "conductor_group": "No machine is in the conductor group {!r}.",
}
_DID_YOU_MEAN = "Did you mean"


def about_unknown(client: Client, resource_class: str | None = None, conductor_group: str | None = None) -> str:
    """Return sentences about those of the names that no machine has, with similar names; "" if there is nothing to say
    or the service has no scheduling API."""
    names = {"resource_class": resource_class, "conductor_group": conductor_group}
    return " ".join(filter(None, (_about(client, key, name) for key, name in names.items() if name)))


def written_classes(parsed_args: argparse.Namespace) -> dict[str, str]:
    """Return the class of the machine options by placement's name, for ``names.as_written``; {} if there is none."""
    written = parsed_args.resource_class
    return {placement_class(written): written} if written else {}


def about_class(client: Client, resource_class: str | None) -> str:
    """Return a sentence about a class if none of the machines that the caller may claim has it, with similar names; ""
    if there is nothing to say."""
    if resource_class is None:
        return ""
    name = placement_class(resource_class)
    try:
        explained = client.request("scheduling", "POST", "/explanations", {"query": f"resources={name}:1"})
    except (CommandError, NoAnswer):
        return ""
    similar = [each["did_you_mean"] for each in explained["unknown"] if each["name"] == name]
    text = about_unknown(client, resource_class) if similar else ""
    if not text or _DID_YOU_MEAN in text or not similar[0]:
        return text
    # Of a project's own machines none is similar.
    others = ", ".join(other for other, _ in similar[0])
    return f"{_TEXTS['resource_class'].format(resource_class)} Placement has similar classes: {others}."


def _about(client: Client, key: str, name: str) -> str:
    try:
        rows = client.get("scheduling", "/capacity", [("group_by", key)])["capacity"]
    except (CommandError, NoAnswer):
        return ""
    known = [row[key] for row in rows if row[key]]
    if name in known:
        return ""
    text = _TEXTS[key].format(name)
    for other in known if key == "resource_class" else ():
        if placement_class(other) == name.upper():
            return f"{text} {name} is what placement calls the class {other!r}. {_DID_YOU_MEAN} {other!r}?"
    close = get_close_matches(name.lower(), known, n=1)
    if close:
        return f"{text} {_DID_YOU_MEAN} {close[0]!r}?"
    return f"{text} There are: {', '.join(sorted(known)[:10])}." if known else text
