"""Requests that ask for more than can be worked out: they are refused at once, or stopped in time."""

import time
from types import SimpleNamespace

import pytest

from baremetal_sched.db import deadline
from baremetal_sched.placement.candidates import search
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit
from tests import worlds
from tests.service import Service
from tests.unit.test_candidate_choosing import TIGHT
from tests.worlds import spec, uuid_of


def hosts(service: Service, number: int) -> None:
    """Providers with 100 processors each, below one root."""
    specs = [spec("root"), *(spec(f"host{place}", "root", VCPU=100) for place in range(number))]
    service.database.write(lambda session: worlds.build(session, specs))


def of(amounts: list[int], policy: str = "none") -> str:
    groups = [f"resources{number}=VCPU:{amount}" for number, amount in enumerate(amounts, 1)]
    return f"/allocation_candidates?{'&'.join(groups)}&group_policy={policy}"


def test_what_is_impossible_is_seen_at_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts(service, 10)
    steps = list[int]()
    monkeypatch.setattr(TimeLimit, "check", lambda limit: steps.append(1))
    for query in (of([51] * 11 + [1]), of([1] * 11, "isolate"), of([34] * 20 + [33])):
        assert service.placement("GET", f"{query}&limit=1").json["allocation_requests"] == []
    assert len(steps) < 1000


def test_a_search_that_takes_too_long_is_answered_with_503(database_url: str) -> None:
    with Service(database_url, placement={"candidates_time_limit": 0.2}) as service:
        hosts(service, 12)
        answer = service.placement("GET", of(TIGHT), status=503)
        assert int(answer.headers["Retry-After"]) >= 1
        (error,) = answer.json["errors"]
        assert "did not end within 0.2 seconds and was stopped. Narrow the request: give a limit" in error["detail"]
        assert "fewer groups (there are 36)" in error["detail"]
    with Service(database_url) as service:
        smaller = service.placement("GET", f"{of([60] * 5)}&limit=3").json["allocation_requests"]
        assert len(smaller) == 3


def test_a_search_ends_before_its_request_has_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: 100.0, sleep=time.sleep))
    options = search.Options(seconds=60)
    with deadline.until(102):
        assert search._seconds(options) == 1.5
    with deadline.until(200):
        assert search._seconds(options) == 60
    with deadline.until(99):
        assert search._seconds(options) == 0
    assert search._seconds(search.Options()) is None


def test_more_candidates_than_one_answer_can_hold(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts(service, 20)
    monkeypatch.setattr(search, "MOST_NAMED", 1000)
    assert len(service.placement("GET", f"{of([1, 1])}&limit=200").json["allocation_requests"]) == 200
    for limit, advice in (("", "give a limit"), ("&limit=300", "give a smaller limit")):
        answer = service.placement("GET", of([1, 1]) + limit, status=503)
        assert f"more allocation candidates than one answer can hold. Narrow the request: {advice}" in answer.text


def test_many_groups_and_classes(service: Service, subtests: pytest.Subtests) -> None:
    """Databases join 60 tables, or think for minutes about the order of joins."""
    every_name = [f"CUSTOM_{number}" for number in range(240)]

    def add(session: object) -> None:
        for name in every_name:
            worlds.ensure_class(session, name)  # type: ignore[arg-type]

    hosts(service, 3)
    service.database.write(add)
    for count in [200, 240]:
        with subtests.test(count=count):
            names = every_name[:count]
            classes = ",".join(f"{name}:1" for name in names)
            assert service.placement("GET", f"/resource_providers?resources={classes}").json["resource_providers"] == []
            assert (
                service.placement("GET", f"/allocation_candidates?resources={classes}").json["allocation_requests"]
                == []
            )
            assert (
                service.placement("GET", f"{of(list(range(1, count + 1)))}&limit=1").json["allocation_requests"] == []
            )
            assert len(service.placement("GET", f"{of([1] * count)}&limit=2").json["allocation_requests"]) == 2


def test_more_conditions_than_a_database_takes(service: Service, subtests: pytest.Subtests) -> None:
    for path in ["/allocation_candidates", "/resource_providers"]:
        for condition, most in [("required=in:CUSTOM_A,CUSTOM_B", 498), (f"member_of={uuid_of('rack')}", 498)]:
            with subtests.test(path=path, condition=condition):
                for name in ("CUSTOM_A", "CUSTOM_B"):
                    service.placement("PUT", f"/traits/{name}")
                for count in (most, most + 1):
                    query = "&".join(["resources=VCPU:1", *[condition] * count])
                    answer = service.placement("GET", f"{path}?{query}", status=200 if count == most else 400)
                assert "at most 500 with 2000 names are accepted" in answer.json["errors"][0]["detail"]


def test_statements_of_large_requests_are_not_kept(service: Service) -> None:
    """Each may take a megabyte, and there are any number of them."""
    hosts(service, 1)
    for number in range(60):
        service.placement("PUT", f"/traits/CUSTOM_{number}")
    caches = [engine._compiled_cache for engine in (service.database.engine, service.database.reading_engine)]
    for cache in caches:
        cache.clear()  # it has what other tests left, and no room for more may be left
    service.placement("GET", "/resource_providers?required=CUSTOM_1")
    service.placement("GET", "/allocation_candidates?resources=VCPU:1&required=in:CUSTOM_1,CUSTOM_2")
    before = [len(cache or ()) for cache in caches]
    for count in range(45, 60):
        traits = "&".join(f"required=in:CUSTOM_{number},CUSTOM_1" for number in range(count))
        service.placement("GET", f"/resource_providers?{traits}")
        service.placement("GET", f"/allocation_candidates?resources=VCPU:1&{traits}")
    assert [len(cache or ()) for cache in caches] == pytest.approx(before, abs=6)
