"""Route tables, and the route that a request gets."""

from typing import Any

import pytest

from baremetal_sched.web.http_errors import MethodNotAllowed, PathNotFound, TooNew
from baremetal_sched.web.responses import empty_response
from baremetal_sched.web.route import Route, by_path, choose, largest_body, method_not_allowed


def view(*_: Any) -> Any:
    return empty_response()


OLD = Route("PUT", "/classes/<name>", view, since=2, until=6)
NEW = Route("PUT", "/classes/<name>", view, since=9, absent=lambda method, version: TooNew(since="1.9"))
GONE = Route("DELETE", "/classes/<name>", view, until=3, absent=method_not_allowed)
LARGE = Route("POST", "/classes", view, largest_body=7)
TABLE = by_path([OLD, LARGE, GONE, NEW])


def test_a_request_gets_the_route_of_its_microversion(subtests: pytest.Subtests) -> None:
    for version, expected in [(2, OLD), (6, OLD), (9, NEW), (100, NEW)]:
        with subtests.test(version=version):
            assert choose(TABLE["/classes/<name>"]["PUT"], version) is expected


def test_other_microversions_hear_what_the_nearest_route_says(subtests: pytest.Subtests) -> None:
    for method, version, error in [("PUT", 1, PathNotFound), ("PUT", 7, TooNew), ("DELETE", 4, MethodNotAllowed)]:
        with subtests.test(method=method, version=version), pytest.raises(error):
            choose(TABLE["/classes/<name>"][method], version)


def test_methods_stand_in_the_order_of_the_table() -> None:
    assert {path: list(methods) for path, methods in TABLE.items()} == {
        "/classes/<name>": ["PUT", "DELETE"],
        "/classes": ["POST"],
    }


def test_the_largest_body() -> None:
    assert largest_body([OLD, LARGE]) == 7
    assert largest_body([]) == 0
