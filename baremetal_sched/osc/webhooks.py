"""openstack scheduling webhook create, list, show, set, delete, resume, test"""

import argparse
from typing import Any

from osc_lib.command import command
from osc_lib.exceptions import CommandError

from baremetal_sched.members import WEBHOOK
from baremetal_sched.osc.client import Client, RequestFailed, UsageError, WithOptions, client_of, path_of
from baremetal_sched.osc.tables import AttemptsColumn, Document, LinesColumn, Table, TextColumn, TimeColumn, shown


def _find(client: Client, named: str) -> str:
    """Return the UUID of the webhook with this UUID or name. Raises CommandError unless exactly one exists."""
    try:
        found: str = client.get("scheduling", path_of("webhooks", named))["uuid"]
        return found
    except RequestFailed as error:
        if error.status != 404:
            raise
    uuids: list[str] = [each["uuid"] for each in client.get("scheduling", "/webhooks", [("name", named)])["webhooks"]]
    if len(uuids) != 1:
        number = "several webhooks" if uuids else "no webhook"
        raise CommandError(f"There is {number} called {named!r}: give the UUID.")
    return uuids[0]


def _shown(webhook: Document) -> Table:
    """Return the names and values of a webhook's members."""
    return shown({name: _cell(name, value) for name, value in webhook.items()})


def _cell(name: str, value: Any) -> Any:
    if name == "attempts":
        return AttemptsColumn(value)
    if isinstance(value, list):
        return LinesColumn(value)
    if WEBHOOK.types.get(name) == "time":
        return TimeColumn(value)
    return TextColumn(" ".join(value.values())) if isinstance(value, dict) else value


def _filter_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", metavar="<name>", help="Name of the webhook, unique within the project.")
    types, nodes, domains = (parser.add_mutually_exclusive_group() for _ in range(3))
    types.add_argument(
        "--type", action="append", metavar="<type>", help="Only events of this type (repeat for several)."
    )
    types.add_argument("--all-types", action="store_true", help="Events of all types (the default of a new one).")
    nodes.add_argument(
        "--node", action="append", metavar="<node>", help="Only events of this node: UUID or name (repeat)."
    )
    nodes.add_argument("--all-nodes", action="store_true", help="Events of all nodes (the default of a new one).")
    domains.add_argument(
        "--domain",
        metavar="<level>:<name>",
        help="Only events of nodes in this domain or below it: rack:r3, or a UUID.",
    )
    domains.add_argument("--no-domain", action="store_true", help="Events of all domains (the default of a new one).")


def _filter_of(client: Client, arguments: argparse.Namespace) -> Document:
    """Return the name and the filter, as the API takes them."""
    body: Document = {} if arguments.name is None else {"name": arguments.name}
    if arguments.type or arguments.all_types:
        body["types"] = arguments.type or []
    if arguments.node or arguments.all_nodes:
        found = (client.get("baremetal", path_of("nodes", each)) for each in arguments.node or ())
        body["nodes"] = [each["uuid"] for each in found]
    if arguments.domain is not None or arguments.no_domain:
        body["domain"] = arguments.domain
    return body


class CreateWebhook(WithOptions, command.ShowOne):
    """Create a webhook: later events are sent to a receiver

    The secret is shown only now: the receiver verifies signatures with it.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        _filter_options(parser)
        parser.add_argument("url", metavar="<url>", help="Where the events are sent, with POST.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the webhook's members."""
        client = client_of(self.app)
        body = {"url": parsed_args.url, **_filter_of(client, parsed_args)}
        return _shown(client.request("scheduling", "POST", "/webhooks", body))


class ListWebhooks(WithOptions, command.Lister):
    """List webhooks with their states and the numbers of events still to send"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("--state", choices=WEBHOOK.words["state"], help="Only webhooks in this state.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return titles and rows."""
        state = [] if parsed_args.state is None else [("state", parsed_args.state)]
        found = client_of(self.app).pages("/webhooks", "webhooks", state, None)
        return WEBHOOK.titles, [_shown({name: each[name] for name in WEBHOOK.columns})[1] for each in found]


class _OfWebhook(WithOptions):
    """A command about a webhook, or several."""

    number: str | None = None

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("webhook", metavar="<webhook>", nargs=self.number, help="UUID or name of the webhook.")


class ShowWebhook(_OfWebhook, command.ShowOne):
    """Show a webhook"""

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the webhook's members."""
        client = client_of(self.app)
        return _shown(client.get("scheduling", path_of("webhooks", _find(client, parsed_args.webhook))))


class SetWebhook(_OfWebhook, command.ShowOne):
    """Change a webhook, or make a new secret

    For a day deliveries are signed with the new secret and with the one before.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        super().add_options(parser)
        _filter_options(parser)
        parser.add_argument("--url", metavar="<url>", help="Where the events are sent, with POST.")
        parser.add_argument("--new-secret", action="store_true", help="Make a new secret, which is shown only now.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the webhook's members."""
        client = client_of(self.app)
        body = _filter_of(client, parsed_args)
        body |= {} if parsed_args.url is None else {"url": parsed_args.url}
        body |= {"new_secret": True} if parsed_args.new_secret else {}
        if not body:
            raise UsageError("Say what to change: --url, --name, --type, --node, --domain or --new-secret.")
        return _shown(
            client.request("scheduling", "PATCH", path_of("webhooks", _find(client, parsed_args.webhook)), body)
        )


class DeleteWebhook(_OfWebhook):
    """Delete webhooks"""

    number = "+"

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Delete them."""
        client = client_of(self.app)
        for named in parsed_args.webhook:
            client.request("scheduling", "DELETE", path_of("webhooks", _find(client, named)))


class ResumeWebhook(_OfWebhook, command.ShowOne):
    """Continue to send events, after the last one that was delivered

    If later events have been deleted, it continues with the oldest that is left. lost is the number of the others.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        super().add_options(parser)
        places = parser.add_mutually_exclusive_group()
        places.add_argument(
            "--after", metavar="<cursor>", help="Continue after this cursor. now: send only what happens from now on."
        )
        places.add_argument(
            "--skip", action="store_true", help="Skip the next event, which the receiver refuses, and say which it was."
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the webhook's members."""
        client = client_of(self.app)
        path = path_of("webhooks", _find(client, parsed_args.webhook), "resume")
        body: Document | None = {"skip": 1} if parsed_args.skip else None
        body = body if parsed_args.after is None else {"after": parsed_args.after}
        return _shown(client.request("scheduling", "POST", path, body))


class TestWebhook(_OfWebhook, command.ShowOne):
    """Send a test event, and show the answer of the receiver

    The event has the type scheduling.webhook.test and is in no list. A parked webhook can be tested, and stays parked.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the result."""
        client = client_of(self.app)
        return _shown(
            client.request("scheduling", "POST", path_of("webhooks", _find(client, parsed_args.webhook), "test"))
        )
