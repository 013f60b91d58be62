# tier: first
"""A trait that nobody has created is not there: who forbids it gets a machine, and it does not count among several that
are accepted. Every door says the same."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.functional.compute.test_servers import add_image, boot, show
from tests.functional.compute.world import ZEROS
from tests.service import Service

CLAIMS, EXPLANATIONS, REQUESTS = (f"/scheduling/v1/{name}" for name in ("claims", "explanations", "requests"))
NOBODY, NEITHER, KNOWN = "CUSTOM_NOBODY", "CUSTOM_NEITHER", "CUSTOM_KNOWN"
PLAIN = {"resources:CUSTOM_GOLD": "1", **ZEROS}
GROUPED = {"resources1:CUSTOM_GOLD": "1", "group_policy": "none", **ZEROS}


@pytest.fixture
def served(service: Service) -> Service:
    service.add_conductor("r1")
    service.add_node("n1", traits=(KNOWN,))
    return service


def by_query(query: str) -> dict[str, Any]:
    return {"query": f"resources=CUSTOM_GOLD:1&{query}"}


def by_flavor(specs: dict[str, str]) -> dict[str, Any]:
    return {"flavor": {"vcpus": 1, "ram": 1, "disk": 1, "extra_specs": specs}}


#: Bodies that the machine meets; allocations of the bare metal API know no sets.
MET = {
    "a query that forbids it": by_query(f"required=!{NOBODY}"),
    "a query that forbids it of the root": by_query(f"root_required=!{NOBODY}"),
    "a query that accepts another": by_query(f"required=in:{KNOWN},{NOBODY}"),
    "a query with a group": {
        "query": f"resources_A=CUSTOM_GOLD:1&required_A=!{NOBODY}&required_A=in:{NOBODY},{KNOWN}&group_policy=none"
    },
    "a class, and it is forbidden": {"resource_class": "gold", "traits": [f"!{NOBODY}"]},
    "a flavor that forbids it": by_flavor({**PLAIN, f"trait:{NOBODY}": "forbidden"}),
    "a flavor with a group that forbids it": by_flavor({**GROUPED, f"trait1:{NOBODY}": "forbidden"}),
}
#: Bodies that nothing meets, by what the reason names.
UNMET = {
    "only unknown ones are accepted": by_query(f"required=in:{NOBODY},{NEITHER}"),
    "it is required": by_query(f"required={NOBODY}&required=!{NEITHER}"),
    "a flavor requires it": by_flavor({**PLAIN, f"trait:{NOBODY}": "required"}),
}


def test_a_machine_that_is_free_is_given(served: Service, subtests: pytest.Subtests) -> None:
    for name, body in MET.items():
        for wait in (0, 60):
            with subtests.test(msg=f"claim by {name}, wait {wait}"):
                waits = wait if "_A" not in str(body) and "resources1" not in str(body) else 0
                claimed = served.http.post_json(CLAIMS, {**body, "wait": waits}, status=201).json
                assert claimed["state"] == "claimed"
                served.http.delete(f"{CLAIMS}/{claimed['uuid']}", status=204)
        with subtests.test(msg=f"explanation of {name}"):
            explained = served.http.post_json(EXPLANATIONS, body).json
            assert (explained["fitting"], explained["verdict"]) == (1, "fits")
            node = served.node("n1")["uuid"]
            assert served.http.post_json(f"{EXPLANATIONS}/nodes/{node}", body).json["verdict"] == "fits"
        if "flavor" in body:
            with subtests.test(msg=f"dry run of {name}"):
                assert len(served.http.post_json(REQUESTS, body).json["candidates"]) == 1


def test_servers_and_allocations_are_given_it(served: Service) -> None:
    specs: list[dict[str, str]] = [
        {**PLAIN, f"trait:{NOBODY}": "forbidden"},
        {**GROUPED, f"trait1:{NOBODY}": "forbidden"},
    ]
    image = add_image(served)
    for number, each in enumerate(specs):
        server = boot(served, served.add_flavor(f"f{number}", specs=each), image).json["server"]["id"]
        served.work()
        assert show(served, server)["status"] == "ACTIVE"
        served.compute("DELETE", f"/servers/{server}")
        served.work()
    for traits in ([f"!{NOBODY}"], [f"in:{KNOWN},{NOBODY}"]):
        made = served.baremetal("POST", "/allocations", {"resource_class": "gold", "traits": traits}).json
        assert served.baremetal("GET", f"/allocations/{made['uuid']}").json["state"] == "active"
        served.baremetal("DELETE", f"/allocations/{made['uuid']}")


def test_who_waits_is_given_the_next_machine(served: Service, subtests: pytest.Subtests) -> None:
    node = served.node("n1")["uuid"]
    for name, body in MET.items():
        if "_A" in str(body) or "resources1" in str(body):
            continue  # such a request does not say which class of machines it waits for
        with subtests.test(msg=name):
            served.claim("3f2504e0-4f89-41d3-9a0c-0305e82c3302", node)
            waiting = served.http.post_json(CLAIMS, {**body, "wait": 60}, status=202).json["uuid"]
            served.placement("DELETE", "/allocations/3f2504e0-4f89-41d3-9a0c-0305e82c3302")
            assert list(served.http.get(f"{CLAIMS}/{waiting}").json["allocations"]) == [node]
            served.http.delete(f"{CLAIMS}/{waiting}", status=204)


def test_nothing_fits_if_all_that_are_accepted_are_unknown(served: Service, subtests: pytest.Subtests) -> None:
    for name, body in UNMET.items():
        doors: dict[str, Callable[[Any], Any]] = {
            "explanation": lambda asked: served.http.post_json(EXPLANATIONS, asked).json["summary"],
            "claim": lambda asked: served.http.post_json(CLAIMS, asked, status=409).json["error"]["message"],
            "claim that waits": lambda asked: served.http.post_json(CLAIMS, {**asked, "wait": 60}, status=409).json[
                "error"
            ]["message"],
        }
        if "flavor" in body:
            doors["dry run"] = lambda asked: served.http.post_json(REQUESTS, asked).json["reason"]
        for door, ask in doors.items():
            with subtests.test(msg=f"{door}: {name}"):
                reason = ask(body)
                assert NOBODY in reason
                assert NEITHER not in reason or "accepted" in name


def test_placement_refuses_them_as_ever(served: Service) -> None:
    for query in (f"required=!{NOBODY}", f"required=in:{KNOWN},{NOBODY}"):
        answer = served.placement("GET", f"/allocation_candidates?resources=CUSTOM_GOLD:1&{query}", status=400)
        assert f"No such trait(s): {NOBODY}." in answer.json["errors"][0]["detail"]
