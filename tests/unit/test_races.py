"""Each route that changes something is in the table of operations that meet, in ``tests/races``."""

import re

from baremetal_sched.scheduling.api.bookings import change_booking, create_booking
from baremetal_sched.scheduling.api.claims import create_claim
from baremetal_sched.web.route import Route
from tests.races.operations import ALL, OPERATIONS
from tests.races.operations.operation import Operation
from tests.reference import ROUTES

#: Views that do not meet others, and why not.
LEFT_OUT = {
    "call_method": "what it does is up to the vendor",
    "call_driver_method": "what it does is up to the vendor",
    "refuse_update": "there are no quotas",
    "delete_quotas": "there are no quotas",
}

#: Views of claims and bookings that begin their own transactions, so their routes have none.
_OF_THEIR_OWN = (create_claim, create_booking, change_booking)


def is_of(operation: Operation, api: str, route: Route) -> bool:
    pattern = re.sub(r"<[^>]+>", "[^/]+", route.path)
    if (operation.api, operation.method) != (api, route.method):
        return False
    return bool(re.fullmatch(pattern, operation.path.partition("?")[0])) and route.serves(operation.minor_version)


def test_what_changes_something_is_in_the_table() -> None:
    missing = [
        f"{api} {route.method} {route.path}: a line in tests/races/operations"
        for api, route in ROUTES
        if route.writes
        and route.view.__name__ not in LEFT_OUT
        and not any(is_of(operation, api, route) for operation in OPERATIONS.values())
    ]
    assert missing == []


def test_each_line_of_the_table_is_about_a_route_that_changes_something() -> None:
    for operation in OPERATIONS.values():
        if operation.api == "conductor":
            continue
        found = [route for api, route in ROUTES if is_of(operation, api, route)]
        writes = [route.writes or route.view in _OF_THEIR_OWN for route in found]
        assert writes == [True], operation.name


def test_what_is_left_out_exists() -> None:
    assert {route.view.__name__ for _, route in ROUTES} >= LEFT_OUT.keys()


def test_names_are_given_once() -> None:
    assert len(OPERATIONS) == len(ALL)
