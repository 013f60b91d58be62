"""Who is looked at when a machine becomes free: many claims of one project do not keep others out."""

import uuid

import pytest

from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.db.models import WaitingRequest
from baremetal_sched.placement import waiting_requests
from tests.functional.scheduling.test_handover import GOLD, held, state, wait
from tests.service import Service

MOST = 4


@pytest.fixture
def served(database_url: str) -> Service:
    with Service(database_url, scheduling={"most_tested": MOST}) as service:
        service.add_conductor("r1")
        yield service


def asking(more: str, project: str | None = None) -> TreeRequest:
    """A request for gold with more conditions."""
    return TreeRequest(f"resources=CUSTOM_GOLD:1&{more}", served=False, version=39, project=project)


def elsewhere(project: str | None = None) -> TreeRequest:
    """A request for resources in an aggregate that no machine is in."""
    return asking(f"member_of={uuid.uuid4()}", project)


def undecided(project: str) -> TreeRequest:
    """A request that nothing fits, which only the search can tell."""
    return asking(f"in_tree={uuid.uuid4()}", project)


def test_requests_that_cannot_fit_do_not_count(served: Service) -> None:
    """Guide: 'Requests … that ask for other traits or aggregates than it has, do not count.'"""
    for _ in range(3 * MOST):
        wait(served, elsewhere())
    first = wait(served)
    node = served.add_node("n1", resource_class="gold")
    assert held(served, first) == [node]


def test_a_machine_in_the_aggregate_fits(served: Service) -> None:
    node = served.add_node("n1", resource_class="gold", maintenance=True)
    aggregate, other = str(uuid.uuid4()), str(uuid.uuid4())
    served.placement("PUT", f"/resource_providers/{node}/aggregates", [aggregate], version="1.1")
    beside, excluded = wait(served, asking(f"member_of={other}")), wait(served, asking(f"member_of=!{aggregate}"))
    within = wait(served, asking(f"member_of=in:{other},{aggregate}"))
    served.baremetal("DELETE", f"/nodes/{node}/maintenance")
    assert held(served, within) == [node]
    assert (state(served, beside), state(served, excluded)) == ("waiting", "waiting")


def test_requests_of_who_may_not_use_the_machine_do_not_count(served: Service) -> None:
    """Guide: 'Requests whose project may not use the machine … do not count.'"""
    for number in range(3 * MOST):
        wait(served, asking(f"required=!CUSTOM_{number}", "blue"))
    first = wait(served, asking("required=!CUSTOM_A", "green"))
    node = served.add_node("n1", resource_class="gold", owner="green")
    assert held(served, first) == [node]


def test_each_project_in_turn_has_its_share(served: Service) -> None:
    """Guide: 'If more are left, the projects take turns.'"""
    blue = [wait(served, undecided("blue"), project="blue") for _ in range(3 * MOST)]
    first = wait(served, GOLD, project="green")
    last = wait(served, asking("required=!CUSTOM_A", "blue"), project="blue")
    node = served.add_node("n1", resource_class="gold")
    assert held(served, first) == [node]
    assert {state(served, each) for each in (*blue, last)} == {"waiting"}


def test_what_no_machine_would_fit_comes_last(served: Service) -> None:
    """Guide: 'It is -1 for a claim that no machine could have satisfied at the time of the request … these claims come
    last.' A machine that fits and is enrolled later goes to others first."""
    body = {"query": f"resources=CUSTOM_GOLD:1&member_of={uuid.uuid4()}", "wait": 60, "even_if_impossible": True}
    made = served.http.post_json("/scheduling/v1/claims", body, status=202).json
    assert made["priority"] == waiting_requests.LAST
    later = wait(served)
    found = served.database.read(lambda session: waiting_requests.find(session, later))
    assert isinstance(found, WaitingRequest)
    assert found.priority > made["priority"]
