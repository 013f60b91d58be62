"""openstack scheduling booking create, list, show, set, delete"""

import argparse
import time
import uuid
from collections.abc import Mapping
from typing import Any

from cliff.columns import FormattableColumn
from osc_lib.command import command
from osc_lib.exceptions import CommandError

from baremetal_sched import commands
from baremetal_sched.members import BOOKING
from baremetal_sched.osc.client import (
    UUID,
    Client,
    FitsOrNot,
    RequestFailed,
    UsageError,
    WithOptions,
    client_of,
    path_of,
)
from baremetal_sched.osc.explain import add_request_options, request_body
from baremetal_sched.osc.find import positive
from baremetal_sched.osc.holds import moment
from baremetal_sched.osc.names import as_written, classes_of, placement_class
from baremetal_sched.osc.query import written_classes
from baremetal_sched.osc.several import add_rules, rules_of
from baremetal_sched.osc.tables import Document, Table, TextColumn, TimeColumn, is_table, lines, plain, row, shown
from baremetal_sched.osc.waiting import answered, duration

#: The columns of the list in a table for people.
_TABLE = ("Booking", "State", "Machines", "Time")
#: The code of a booking that is impossible.
_NOT_BOOKABLE = "scheduling.not_bookable"


def find_booking(client: Client, named: str) -> Document:
    """Return the booking with this UUID, or the one with this name that is not over. Raises CommandError unless exactly
    one exists."""
    if UUID.fullmatch(named):
        booking: Document = client.get("scheduling", path_of("bookings", named))
        return booking
    found: list[Document] = client.get("scheduling", "/bookings", [("name", named)])["bookings"]
    if not found:
        raise CommandError(f"There is no booking {named!r}. To list all bookings: {commands.LIST_BOOKINGS}")
    if len(found) > 1:
        raise CommandError(f"There are several bookings called {named!r}: give the UUID of one.")
    return found[0]


def add_booking(parser: argparse.ArgumentParser) -> None:
    """Add --booking, under which a machine is requested."""
    parser.add_argument(
        "--booking",
        metavar="<booking>",
        help="Name or UUID of a booking: take only its machines, at most until it ends.",
    )


def booking_of(client: Client, parsed_args: argparse.Namespace) -> Document:
    """Return the member of a body that names the booking; {} if none is given."""
    if not parsed_args.booking:
        return {}
    return {"booking": find_booking(client, parsed_args.booking)["uuid"]}


class CreateBooking(FitsOrNot, command.ShowOne):
    """Book machines for later

    The request is a class and traits of machines (--class, --trait, ...), a query of allocation candidates
    (--resource, --required, ... or --query), a server (--flavor, --image), or an allocation of the bare metal API
    (--class with --candidate-node or --owner). All machines are booked for the whole time, or none. The exit status is
    0 if they are, and 3 if there are not enough.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        add_request_options(parser)
        parser.add_argument("--count", type=positive, metavar="<number>", help="How many machines to book. Default: 1.")
        add_rules(parser)
        parser.add_argument("--name", metavar="<name>", help="A name for people.")
        parser.add_argument("--starts-at", type=moment, metavar="<time>", help="When it begins; by default now.")
        end = parser.add_mutually_exclusive_group(required=True)
        end.add_argument(
            "--ends-at",
            type=moment,
            metavar="<time>",
            help="When it ends: 2026-12-04T16:00, in the time zone of this host unless it names another.",
        )
        end.add_argument("--for", type=duration, metavar="<time>", help="How long it lasts: 90 (seconds), 30m, 8h, 5d.")
        parser.add_argument(
            "--uuid", metavar="<uuid>", help="UUID of the booking; with it the command can safely be run again."
        )
        parser.add_argument("--project-id", metavar="<project>", help="Its project; by default the caller's.")
        parser.add_argument("--user-id", metavar="<user>", help="Its user; by default the caller.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the booking's members."""
        client = client_of(self.app)
        names = ("count", "name", "starts_at", "ends_at", "for", "project_id", "user_id")
        given = {name: value for name in names if (value := getattr(parsed_args, name)) is not None}
        own = {"uuid": parsed_args.uuid or str(uuid.uuid4()), **given, **rules_of(parsed_args)}
        body = {**request_body(client, parsed_args), **own}
        try:
            return _shown(answered(client, "POST", "/bookings", body, time.sleep))
        except RequestFailed as error:
            if error.code != _NOT_BOOKABLE:
                raise
            self.fits = False
            self.log.warning("%s", as_written(self.in_options(str(error)), written_classes(parsed_args)))
            return (), ()


class ListBookings(WithOptions, command.Lister):
    """List bookings that are planned or running"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--state", choices=BOOKING.words["state"], help="Only bookings in this state now.")
        which.add_argument("--all", action="store_const", const="true", help="Also bookings that are over.")
        parser.add_argument("--name", metavar="<name>", help="Only bookings of this name.")
        parser.add_argument("--project-id", metavar="<project>", help="Only bookings of this project.")
        parser.add_argument("--class", dest="resource_class", metavar="<class>", help="Only bookings of this class.")
        parser.add_argument("--limit", type=positive, metavar="<number>", help="At most this many; the default is all.")
        parser.add_argument("--long", action="store_true", help="Show all columns in the table; documents have them.")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return titles and rows."""
        client, text = client_of(self.app), parsed_args.resource_class
        values = {name: getattr(parsed_args, name) for name in ("state", "all", "name", "project_id")}
        values["resource_class"] = text if text is None or text.startswith("CUSTOM_") else placement_class(text)
        parameters = [(name, value) for name, value in values.items() if value is not None]
        documents = list(client.pages("/bookings", "bookings", parameters, parsed_args.limit))
        if not is_table(parsed_args) or parsed_args.long:
            return BOOKING.titles, [row(BOOKING, each) for each in documents]
        classes = classes_of(client) if documents else {}
        return _TABLE, [_short(each, classes) for each in documents]


def _short(booking: Document, classes: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the cells of the table."""
    name = [] if booking["name"] is None else [plain(booking["name"])]
    short = [f"{booking['short_by']} short"] if booking["short_by"] else []
    machines = f"{booking['count']} {plain(as_written(booking['resource_class'], classes))}"
    times = (TimeColumn(booking[each]).human_readable() for each in ("starts_at", "ends_at"))
    return (
        lines([booking["uuid"], *name]),
        TextColumn(booking["state"]),
        lines([machines, *short]),
        lines(f"{word} {each}" for word, each in zip(("from", "until"), times, strict=True)),
    )


class _OfBooking(WithOptions):
    """A command about a booking."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("booking", metavar="<booking>", help="Name or UUID of the booking.")


class ShowBooking(_OfBooking, command.ShowOne):
    """Show a booking, its machines, and who has claimed them"""

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the booking's members."""
        return _shown(find_booking(client_of(self.app), parsed_args.booking))


class SetBooking(_OfBooking, command.ShowOne):
    """Change the name, the times or the number of machines of a booking"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        super().add_options(parser)
        parser.add_argument("--name", metavar="<name>", help="The new name.")
        parser.add_argument(
            "--starts-at", type=moment, metavar="<time>", help="When it begins; it can be moved until then."
        )
        parser.add_argument("--ends-at", type=moment, metavar="<time>", help="When it ends.")
        parser.add_argument(
            "--count",
            type=positive,
            metavar="<number>",
            help="How many machines are booked. With fewer, those that nobody has claimed are given up.",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the names and values of the booking's members."""
        names = ("name", "starts_at", "ends_at", "count")
        body = {name: value for name in names if (value := getattr(parsed_args, name)) is not None}
        if not body:
            raise UsageError("Say what to change: --name, --starts-at, --ends-at or --count.")
        client = client_of(self.app)
        path = path_of("bookings", find_booking(client, parsed_args.booking)["uuid"])
        return _shown(client.request("scheduling", "PATCH", path, body))


class DeleteBooking(WithOptions):
    """Cancel bookings: their machines are free for others again"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""
        parser.add_argument("bookings", nargs="+", metavar="<booking>", help="Name or UUID of a booking.")
        parser.add_argument(
            "--force", action="store_true", help="Also end the claims under them, and give back their machines."
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Delete the bookings."""
        client, query = client_of(self.app), "?force=true" if parsed_args.force else ""
        for named in parsed_args.bookings:
            path = path_of("bookings", find_booking(client, named)["uuid"])
            client.request("scheduling", "DELETE", f"{path}{query}")


def _shown(booking: Document) -> Table:
    return shown(booking, machines=_BookedMachines(booking["machines"]))


class _BookedMachines(FormattableColumn[list[Document]]):
    """The machines of a booking, each with the claim that has it on a line below."""

    def human_readable(self) -> str:
        return lines(map(self._of_machine, self._value))

    @staticmethod
    def _of_machine(machine: Document) -> str:
        return f"node {machine['node']}" + (f"\n   claim {machine['claim']}" if machine["claim"] else "")
