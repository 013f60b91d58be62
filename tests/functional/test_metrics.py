"""/metrics: what Prometheus reads."""

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from baremetal_sched.scheduling.capacity import Figures
from baremetal_sched.scheduling.metrics import KEYS, MOST_PAIRS, CapacityMetrics
from baremetal_sched.web.metrics import count_request
from tests.service import Service
from tests.waiting import wait_until


def metrics(service: Service) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The samples, by name and labels."""
    response = service.http.get("/metrics")
    assert response.content_type == "text/plain"
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def value(service: Service, name: str, **labels: str) -> float | None:
    return metrics(service).get((f"baremetal_sched_{name}", frozenset(labels.items())))


def test_nodes_conductors_and_work(service: Service) -> None:
    service.add_conductor("r1", "rack1")
    service.add_node("n1")
    service.add_node("n2", conductor_group="rack1")
    racked = service.add_node("n3", conductor_group="rack1")
    assert value(service, "pending_work", kind="power") == 0
    service.baremetal("PUT", f"/nodes/{racked}/states/power", {"target": "power off"})
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "a fan"})
    assert value(service, "database_up") == 1
    assert value(service, "holds", type="legacy") == 1
    assert value(service, "nodes", provision_state="available") == 3
    assert value(service, "nodes_without_conductor") == 0
    assert value(service, "conductors_alive", conductor_group="rack1") == 1
    assert value(service, "pending_work", kind="power") == 1
    assert value(service, "undone_provider_changes_total", conductor="c1") == 0


def test_a_group_without_a_conductor_is_counted_and_nothing_else_is_affected(service: Service) -> None:
    r1 = service.add_conductor("r1", "rack1")
    free, racked = service.add_node("n1"), service.add_node("n2", conductor_group="rack1")
    r1.sign_off()
    assert value(service, "nodes_without_conductor") == 1
    assert value(service, "conductors_alive", conductor_group="rack1") == 0
    assert (service.node(free)["conductor"], service.node(racked)["conductor"]) == ("c1", None)
    service.baremetal("PUT", f"/nodes/{racked}/states/power", {"target": "power off"}, status=404)
    service.baremetal("PUT", f"/nodes/{free}/states/power", {"target": "power off"}, status=202)
    service.conductors["c1"].sign_off()
    assert value(service, "nodes_without_conductor") == 2


def test_requests_are_counted(service: Service) -> None:
    def count(status: str) -> float:
        labels = {"api": "baremetal", "method": "GET", "status": status}
        return value(service, "request_duration_seconds_count", **labels) or 0

    found, missing = count("200"), count("404")
    service.baremetal("GET", "/nodes")
    service.baremetal("GET", "/nodes/nosuch", status=404)
    assert (count("200"), count("404")) == (found + 1, missing + 1)


def test_an_invented_method_becomes_no_series(service: Service) -> None:
    count_request("baremetal", "INVENTED", 405, 0.1)
    methods = {dict(labels).get("method") for name, labels in metrics(service) if name.endswith("_count")}
    assert "INVENTED" not in methods
    assert "other" in methods


def by_capacity(service: Service) -> dict[tuple[str, ...], float]:
    """The series of capacity: what, class, group and reason."""
    found = {}
    for (name, labels), count in metrics(service).items():
        label = dict(labels)
        if "resource_class" in label:
            found[name.rpartition("_")[2], *(label.get(key, "") for key in (*KEYS, "reason"))] = count
    return found


def test_capacity_is_what_the_api_says(service: Service) -> None:
    service.add_conductor("r1", "rack1")
    service.add_node("free")
    service.add_node("racked", conductor_group="rack1")
    service.add_node("dark", power=False)
    service.add_node("nothing", resource_class=None)
    service.claim("cccccccc-0000-4000-8000-000000000001", service.add_node("claimed"))
    rows = service.http.get(f"/scheduling/v1/capacity?group_by={','.join(KEYS)}").json["capacity"]
    expected: dict[tuple[str, ...], float] = {}
    for row in rows:
        pair = (row["resource_class"] or "", row["conductor_group"])
        expected |= {("free", *pair, ""): row["free"], ("allocated", *pair, ""): row["allocated"]}
        expected |= {("unavailable", *pair, reason): count for reason, count in row["unavailable"].items()}
    assert len(expected) == 8
    wait_until(lambda: by_capacity(service) == expected, "the figures of now")
    assert value(service, "capacity_nodes_left_out") == 0
    assert value(service, "capacity_age_seconds") is not None


@pytest.mark.sqlite_only
def test_capacity_that_takes_too_long_is_left_out(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []

    def measure(*asked: object) -> list[Figures]:
        counted.append(asked)
        if len(counted) != 2:
            raise TimeoutError("It took long.")
        return [Figures({"resource_class": f"c{n}", "conductor_group": None}, free=n) for n in range(MOST_PAIRS + 3)]

    def scraped() -> dict[str, Metric]:
        return {metric.name: metric for metric in service.database.read(measured.figures)}

    monkeypatch.setattr("baremetal_sched.scheduling.capacity.measure", measure)
    monkeypatch.setattr("baremetal_sched.scheduling.metrics._REST", 0)
    measured = CapacityMetrics(service.app.settings)
    assert scraped() == {}
    found = scraped()
    assert len(found["baremetal_sched_capacity_free"].samples) == MOST_PAIRS
    assert found["baremetal_sched_capacity_nodes_left_out"].samples[0].value == 0 + 1 + 2
    # The last figures are said while there are no others, and while another scrape is counting.
    assert scraped().keys() == found.keys()
    with measured._counting:
        assert scraped().keys() == found.keys()
    assert len(counted) == 3
    monkeypatch.setattr("baremetal_sched.scheduling.metrics._REST", 10**9)
    scraped()
    scraped()
    assert len(counted) == 4


def test_without_a_database(subtests: pytest.Subtests) -> None:
    for url in ["sqlite:////nosuch/file.sqlite"]:
        with subtests.test(url=url), Service(url) as service:
            assert value(service, "database_up") == 0
            assert value(service, "nodes_without_conductor") is None
