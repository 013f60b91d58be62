# tier: first
"""The first moment at which a request could be had, and how many machines are free at a later moment."""

from datetime import UTC, datetime
from typing import Any

import pytest

from baremetal_sched.baremetal.holds import holds
from baremetal_sched.db.clock import exactly, in_words, seconds_of
from baremetal_sched.db.models import ClaimEnd
from baremetal_sched.placement.ends import LATE, End
from tests.functional.scheduling.test_ends import claim
from tests.functional.scheduling.test_explanations import GOLD, post
from tests.restored import Rows
from tests.service import Service

HOUR = 3600
#: The turnaround of gold by default, and of silver.
LONG, SHORT = HOUR, 600
SETTINGS = {"scheduling": {"turnaround_of": {"silver": SHORT}}}
BODIES: dict[str, dict[str, Any]] = {
    "allocation": {"resource_class": "gold"},
    "query": {"query": "resources=CUSTOM_GOLD:1"},
    "flavor": {"flavor": GOLD},
}
PATH = "/scheduling/v1/capacity"


@pytest.fixture
def service(database_url: str) -> Any:
    with Service(database_url, **SETTINGS) as service:
        service.add_conductor("c1")
        yield service


@pytest.fixture
def now(service: Service) -> int:
    """The present second."""
    return int(service.database.read(holds.now))


def text(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


def use(service: Service, name: str, until: float | None, resource_class: str = "gold") -> str:
    """Have a machine that is in use until a moment."""
    uuid: str = service.add_node(name, resource_class=resource_class)
    given = None if until is None else End(at=until)
    if resource_class == "gold":
        claim(service, [uuid], given)
    return uuid


def hold(service: Service, name: str, start: float, until: float | None = None) -> None:
    body = {"type": "window", "starts_at": text(start), **({} if until is None else {"ends_at": text(until)})}
    service.http.post_json(f"/scheduling/v1/nodes/{name}/holds", body, status=201)


def earliest(service: Service, **body: Any) -> float | None:
    return seconds_of("earliest", post(service, **{**BODIES["allocation"], "earliest": True, **body})["earliest"])


def test_the_first_end_and_the_turnaround(service: Service, now: int, row: Rows) -> None:
    for name, until in (("n1", now + 5 * HOUR), ("n2", now + 2 * HOUR), ("n3", None)):
        use(service, name, until)
    for name, body in BODIES.items():
        with row(name):
            found = post(service, **body, earliest=True)
            assert found["earliest"] == exactly(now + 2 * HOUR + LONG)
            assert "earliest_reason" not in found
            assert found["busy"] == {"allocated": 1, "in use until": 2}
            assert found["first_end"] == in_words(now + 2 * HOUR)
            assert found["summary"].endswith(
                f" 2 nodes that match are in use until a known end, the first {in_words(now + 2 * HOUR)}."
            )
            assert "earliest" not in post(service, **body)
            assert post(service, **body, until=text(now + 9 * HOUR))["earliest"] == found["earliest"]
            assert post(service, **body, **{"for": HOUR})["earliest"] == found["earliest"]
            too_soon = post(service, **body, until=text(now + 2 * HOUR + LONG))
            assert (too_soon["earliest"], too_soon["earliest_reason"]) == (
                None,
                "By what is known, it cannot be had before its end.",
            )


def test_the_moment_has_a_fraction_as_the_end_has(service: Service, now: int) -> None:
    use(service, "n1", now + HOUR + 0.25)
    assert earliest(service) == now + HOUR + 0.25 + LONG


def test_several_are_had_at_one_moment(service: Service, now: int) -> None:
    for number in (1, 2, 3):
        use(service, f"n{number}", now + number * HOUR)
    assert earliest(service, count=2) == earliest(service, wanted=2) == now + 2 * HOUR + LONG
    hold(service, "n1", now + 2 * HOUR, now + 10 * HOUR)
    assert earliest(service, count=2) == now + 3 * HOUR + LONG
    found = post(service, **BODIES["allocation"], count=4, earliest=True)
    assert (found["earliest"], found["earliest_reason"]) == (
        None,
        "Fewer than 4 machines fit the request, free or not.",
    )


def test_what_is_not_known(service: Service, now: int, row: Rows) -> None:
    uuid = use(service, "n1", now + HOUR)
    unknown = "It is not known when enough of the machines that fit will be free."
    states = {"manageable": None, "clean failed": None, "active": HOUR + LONG}
    for state, until in states.items():
        with row(state):
            service.set_columns(uuid, provision_state=state)
            found = post(service, **BODIES["allocation"], earliest=True)
            assert found["earliest"] == (until and exactly(now + until))
            assert found.get("earliest_reason") == (None if until else unknown)
    service.set_columns(uuid, retired=True)
    assert earliest(service) is None
    service.set_columns(uuid, retired=False)

    def become_late(session: Any) -> None:
        session.query(ClaimEnd).update({"state": LATE})

    service.database.write(become_late)
    assert earliest(service) is None
    assert "in use until" not in post(service, **BODIES["allocation"])["busy"]


def test_a_machine_that_is_cleaned_comes_back(service: Service, now: int) -> None:
    uuid = service.add_node("n1")
    found = earliest(service)
    assert found is not None
    assert now <= found < now + HOUR
    service.set_columns(uuid, provision_state="cleaning", target_provision_state="available")
    found = earliest(service)
    assert found is not None
    assert now + LONG <= found < now + LONG + HOUR
    service.set_columns(uuid, target_provision_state="manageable")
    assert earliest(service) is None


def test_a_strict_end_needs_the_whole_time(service: Service, now: int, row: Rows) -> None:
    service.add_node("n1")
    use(service, "n2", now + 4 * HOUR)
    hold(service, "n1", now + HOUR, now + 2 * HOUR)
    for name, body in BODIES.items():
        with row(name):
            strict = {**body, "strict_end": True}
            found = post(service, **strict, **{"for": 2 * HOUR})
            assert (found["verdict"], found["earliest"]) == ("busy", exactly(now + 2 * HOUR))
            failing = {each["id"] for each in found["conditions"] if each["fails"]}
            assert "availability:planned hold before the end" in failing
            loose = post(service, **body, **{"for": 2 * HOUR})
            assert loose["verdict"] == "fits"
            assert post(service, **strict, **{"for": HOUR / 2})["verdict"] == "fits"
            until = post(service, **strict, until=text(now + 3 * HOUR))
            assert until["earliest"] == exactly(now + 2 * HOUR)


def test_invalid_ends(service: Service, now: int, row: Rows) -> None:
    wrong: dict[str, Any] = {
        "over": {"until": text(now - 60)},
        "both": {"until": text(now + HOUR), "for": 60},
        "no time": {"until": "tomorrow"},
        "no zone": {"until": "2050-01-01T00:00:00"},
        "nothing": {"for": 0},
        "a text": {"for": "60"},
        "no flag": {"earliest": "yes"},
    }
    for name, body in wrong.items():
        with row(name):
            assert post(service, **BODIES["allocation"], **body, status=400)
    path = f"/scheduling/v1/explanations/nodes/{service.add_node('n1')}"
    for name in ("earliest", "for", "until", "strict_end"):
        with row(name):
            service.http.post_json(path, {**BODIES["allocation"], name: 1}, status=400)


def test_capacity_at_a_later_moment(service: Service, now: int, row: Rows) -> None:
    use(service, "n1", now + HOUR)
    use(service, "n2", None)
    use(service, "s1", None, "silver")
    service.add_node("n3")
    hold(service, "n3", now + HOUR, now + 3 * HOUR)
    service.set_columns(use(service, "s2", None, "silver"), provision_state="clean wait")
    expected: dict[float, dict[str, tuple[int, int, dict[str, int]]]] = {
        now + SHORT / 2: {"gold": (1, 2, {}), "silver": (1, 0, {"clean wait": 1})},
        now + HOUR: {"gold": (0, 2, {"planned hold": 1}), "silver": (2, 0, {})},
        now + HOUR + LONG: {"gold": (1, 1, {"planned hold": 1}), "silver": (2, 0, {})},
        now + 3 * HOUR: {"gold": (2, 1, {}), "silver": (2, 0, {})},
    }
    for moment, classes in expected.items():
        with row(str(moment - now)):
            answer = service.http.get(PATH, {"group_by": "resource_class", "at": text(moment)}).json["capacity"]
            found = {each["resource_class"]: (each["free"], each["allocated"], each["unavailable"]) for each in answer}
            assert found == classes
    only = service.http.get(PATH, {"resource_class": "silver", "at": text(now + HOUR)}).json["capacity"]
    assert [each["free"] for each in only] == [2]
    for wrong in (text(now - 60), "soon", "2050-01-01T00:00:00", "2050-01-01T00:00:00 01:00"):
        with row(wrong):
            service.http.get(PATH, {"at": wrong}, status=400)
