"""What the commands about bookings send, and how bookings are shown."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from baremetal_sched import members
from baremetal_sched.osc import bookings, claim, fleet_holds
from baremetal_sched.osc.client import RequestFailed
from tests.unit.osc.test_tables import TIME, UUID, width

START, END = "2035-01-05T09:00:00+00:00", "2035-01-07T09:00:00+00:00"
BOOKING: dict[str, Any] = {**dict.fromkeys(members.BOOKING.types, UUID), "name": "training", "state": "running"}
BOOKING |= {"starts_at": TIME, "ends_at": TIME, "resource_class": "CUSTOM_GOLD", "count": 16, "short_by": 2}
BOOKING |= {"machines": [{"node": UUID, "consumer": None, "claim": None}, dict.fromkeys(("node", "claim"), UUID)]}


class Service:
    """The API. ``sent`` are the changes that were requested; there is one booking, which is called training."""

    def __init__(self, error: RequestFailed | None = None) -> None:
        self.session = SimpleNamespace(get_project_id=lambda: None, get_user_id=lambda: None)
        self.sent: list[tuple[str, str, Any]] = []
        self.asked: list[tuple[str, Any]] = []
        self._error = error

    def get(self, service: str, path: str, parameters: Any = ()) -> Any:
        self.asked.append((path, [*parameters]))
        found = [BOOKING] if dict(parameters).get("name", "training") == "training" else []
        return {"bookings": found} if path == "/bookings" else BOOKING

    def pages(self, path: str, items: str, parameters: Any, limit: int | None) -> Any:
        return self.get("scheduling", path, parameters)[items]

    def request(self, service: str, method: str, path: str, body: Any = None) -> Any:
        self.sent.append((method, path, body))
        if self._error is not None:
            raise self._error
        return BOOKING


def run(kind: Any, service: Service, options: str) -> int:
    """Run a command, and return its exit status."""
    app = SimpleNamespace(
        client_manager=SimpleNamespace(scheduling=service),
        options=SimpleNamespace(deferred_help=False),
        stdout=io.StringIO(),
    )
    prints = ("-f", "json") if kind is not bookings.DeleteBooking else ()
    command = kind(app, None)
    status: int = command.run(command.get_parser("booking").parse_args([*options.split(), *prints]))
    return status


def test_bodies_of_bookings(subtests: pytest.Subtests) -> None:
    gold, until = {"query": "resources=CUSTOM_GOLD:1"}, {"starts_at": START, "ends_at": END}
    times = f"--starts-at {START} --ends-at {END}"
    rows: dict[str, dict[str, Any]] = {
        f"--class gold {times}": {**gold, **until},
        "--class gold --for 5d": {**gold, "for": 432_000},
        f"--class gold --trait A --count 4 --spread rack:1 --pack row --name x {times}": {
            "query": "resources=CUSTOM_GOLD:1&required=A",
            **until,
            "name": "x",
            "count": 4,
            "spread": {"by": "rack", "at_most": 1},
            "pack": {"by": "row"},
        },
        f"--resource CUSTOM_GOLD=1 --project-id p --user-id u {times}": {
            **gold,
            **until,
            "project_id": "p",
            "user_id": "u",
        },
        f"--class gold --candidate-node n1 {times}": {
            "resource_class": "gold",
            "candidate_nodes": ["n1"],
            **until,
        },
    }
    for options, body in rows.items():
        with subtests.test(options):
            service = Service()
            assert run(bookings.CreateBooking, service, f"{options} --uuid {UUID}") == 0
            assert service.sent == [("POST", "/bookings", {"uuid": UUID, **body})]


def test_the_exit_status_is_3_if_it_cannot_be_booked() -> None:
    """Of other refusals it is that of an error."""
    refused = Service(RequestFailed("It cannot be booked.", 409, "scheduling.not_bookable"))
    assert run(bookings.CreateBooking, refused, "--class gold --for 1d") == 3
    with pytest.raises(RequestFailed):
        run(
            bookings.CreateBooking,
            Service(RequestFailed("Limit.", 409, "scheduling.booking_limit")),
            "--class a --for 1d",
        )


def test_a_booking_is_changed_and_deleted_by_its_name_or_uuid() -> None:
    service = Service()
    assert run(bookings.SetBooking, service, f"training --count 3 --ends-at {END} --name new") == 0
    assert run(bookings.SetBooking, service, "training") == 2
    assert run(bookings.DeleteBooking, service, f"training {UUID}") == 0
    assert run(bookings.DeleteBooking, service, "training --force") == 0
    path = f"/bookings/{UUID}"
    assert service.sent == [
        ("PATCH", path, {"name": "new", "ends_at": END, "count": 3}),
        *[("DELETE", path, None)] * 2,
        ("DELETE", f"{path}?force=true", None),
    ]
    with pytest.raises(bookings.CommandError, match="There is no booking 'other'"):
        run(bookings.ShowBooking, service, "other")


def test_a_claim_names_its_booking() -> None:
    service = Service()
    with pytest.raises(KeyError):  # what is answered is no claim
        run(claim.Claim, service, "--class gold --booking training")
    (_, path, body) = service.sent[0]
    assert (path, body["booking"]) == ("/claims", UUID)


def test_a_list_asks_for_what_its_options_say() -> None:
    service = Service()
    run(bookings.ListBookings, service, "--all --class gold --name training --project-id p")
    asked = {"all": "true", "name": "training", "project_id": "p", "resource_class": "CUSTOM_GOLD"}
    assert [(path, dict(parameters)) for path, parameters in service.asked] == [("/bookings", asked)]


def test_who_holds_machines_is_told_what_becomes_of_their_bookings(caplog: pytest.LogCaptureFixture) -> None:
    hold = {"node_uuid": UUID, "node_name": None, "uuid": UUID}
    for bookings_of, said in (({"bookings": {"moved": 3, "short": 1}}, "3 get others, 1 are left short."), ({}, "")):
        service = Service()
        service.request = lambda *_, more=bookings_of: {"maintenance": [hold], **more}  # type: ignore[method-assign]
        caplog.clear()
        assert run(fleet_holds.AddHolds, service, "--node n1 --type window --dry-run") == 0
        assert caplog.text.strip().endswith(said)
        assert bool(caplog.text) == bool(said)


def test_tables_of_bookings_fit_into_100_columns() -> None:
    cells = bookings._short(BOOKING, {"CUSTOM_GOLD": "gold"})
    assert width(bookings._TABLE, [cells]) <= 100
    assert cells[0] == f"{UUID}\ntraining"
    assert cells[2:] == ("16 gold\n2 short", "from 2050-01-01T21:00:00Z\nuntil 2050-01-01T21:00:00Z")
    unnamed = bookings._short({**BOOKING, "name": None, "short_by": 0}, {})
    assert (unnamed[0], unnamed[2]) == (UUID, "16 CUSTOM_GOLD")
    names, values = bookings._shown(BOOKING)
    shown = dict(zip(names, values, strict=True))["machines"].human_readable()
    assert shown.split("\n") == [f"node {UUID}", f"node {UUID}", f"   claim {UUID}"]
