"""From the start of a planned hold a machine without a consumer is not deployed, although its flag is not set yet."""

import pytest

from tests.functional.scheduling.test_planned_holds import listed, plan, sweep
from tests.passing_time import HOUR, go_by
from tests.service import Service, fault

CONSUMER = "cccccccc-0000-4000-8000-000000000001"


@pytest.fixture
def served(service: Service) -> Service:
    service.add_conductor("c1")
    service.add_node("n1", instance_info={"image_source": "http://127.0.0.1/x.img"})
    return service


def deploy(service: Service, status: int) -> str:
    answer = service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "active"}, status=status)
    return fault(answer) if status >= 400 else ""


def test_what_nobody_has_is_not_deployed(served: Service) -> None:
    plan(served)
    go_by(served, HOUR - 60)
    deploy(served, 202)


def test_as_in_maintenance(served: Service) -> None:
    """ "A machine without a consumer is not deployed either (400, as in maintenance)." """
    plan(served)
    go_by(served, HOUR)
    assert not served.node("n1")["maintenance"]
    said = deploy(served, 400)
    assert said.endswith("a planned hold has started, and the node has no consumer.")
    assert served.node("n1")["provision_state"] == "available"
    sweep(served)
    assert "it's in maintenance mode" in deploy(served, 400)


@pytest.mark.parametrize("by", ["claim", "instance", "allocation"])
def test_who_had_it_deploys_while_a_draining_hold_waits(served: Service, by: str) -> None:
    """ "Who had it before may deploy it while a hold with --drain waits." """
    uuid = served.node("n1")["uuid"]
    if by == "claim":
        served.claim(CONSUMER, uuid)
    elif by == "instance":
        served.patch("n1", ("add", "/instance_uuid", CONSUMER))
    else:
        served.baremetal("POST", "/allocations", {"resource_class": "gold"})
    plan(served, drain=True)
    go_by(served, HOUR)
    sweep(served)
    assert listed(served)[0]["state"] == "draining"
    deploy(served, 202)
