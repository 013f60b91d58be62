# tier: first
"""Claims of the scheduling API: a machine now, or when one is free."""

import threading
import time
import uuid as uuid_module
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy.orm import Session
from webtest import TestResponse

from baremetal_sched.baremetal.matching import explanation
from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.sentences import FALLBACK
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.errors import CommitUnknown
from baremetal_sched.placement import waiting_requests
from baremetal_sched.placement.waiting_requests import NewWaitingRequest
from baremetal_sched.scheduling import claims
from baremetal_sched.settings import load
from baremetal_sched.web.slots import ACCEPTED_AT
from tests.functional.compute.world import ZEROS
from tests.restored import restored
from tests.service import Service
from tests.unchanged import unchanged
from tests.waiting import wait_until

CLAIMS = "/scheduling/v1/claims"
QUERY = {"query": "resources=CUSTOM_GOLD:1"}
LIKE_ALLOCATION = {"resource_class": "gold"}
FLAVOR = {"flavor": {"vcpus": 1, "ram": 1, "disk": 1, "extra_specs": {"resources:CUSTOM_GOLD": "1", **ZEROS}}}
UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
OTHER = "3f2504e0-4f89-41d3-9a0c-0305e82c3302"
UNIT = {"resources": {"CUSTOM_GOLD": 1}}

ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "member,reader"}
BERT = {"X-Auth-Token": "bert:b", "X-Roles": "member,reader"}
ADMIN = {"X-Auth-Token": "admin", "X-Roles": "admin", "OpenStack-System-Scope": "all"}


def post(service: Service, body: Any = None, *, status: int, headers: Any = None, **more: Any) -> TestResponse:
    return service.http.post_json(CLAIMS, {**(QUERY if body is None else body), **more}, status=status, headers=headers)


def show(service: Service, uuid: str = UUID, query: str = "", **options: Any) -> Any:
    return service.http.get(f"{CLAIMS}/{uuid}{query}", **options).json


def listed(service: Service, query: str = "", **options: Any) -> list[str]:
    return [each["uuid"] for each in service.http.get(f"{CLAIMS}?{query}", **options).json["claims"]]


def message(response: TestResponse) -> str:
    text: str = response.json["error"]["message"]
    return text


# -- now ---------------------------------------------------------------------------------------------------------------


def test_a_free_machine_is_claimed_at_once(served: Service, subtests: pytest.Subtests) -> None:
    for body in [QUERY, LIKE_ALLOCATION, FLAVOR]:
        with subtests.test(body=body), restored(served):
            node = served.add_node("n1")
            consumer = {"uuid": UUID.upper(), "project_id": "p", "user_id": "u", "type": "HOST"}
            answer = post(served, body, consumer=consumer, status=201)
            assert answer.headers["Location"] == f"http://localhost{CLAIMS}/{UUID}"
            shown = answer.json
            assert (shown["uuid"], shown["state"], shown["kind"]) == (UUID, "claimed", "claim")
            assert (shown["allocations"], shown["position"], shown["reason"]) == ({node: UNIT}, None, None)
            assert shown["consumer"] == {"uuid": UUID, "project_id": "p", "user_id": "u", "type": "HOST"}
            # To show it also looks up where the machine is.
            assert show(served) == {**shown, "machines": [{**shown["machines"][0], "domains": {}}]}
            held = served.placement("GET", f"/allocations/{UUID}").json
            assert (list(held["allocations"]), held["project_id"], held["consumer_type"]) == ([node], "p", "HOST")
            assert served.database.snapshot(audit) == []


def test_nothing_is_free_now(served: Service) -> None:
    served.add_node("n1")
    post(served, status=201)
    said = message(post(served, status=409))
    assert said == served.http.post_json("/scheduling/v1/explanations", QUERY).json["summary"]
    assert listed(served, "state=waiting") == []
    assert "CUSTOM_NOSUCH" in message(post(served, query="resources=CUSTOM_NOSUCH:1", status=409))


def test_what_is_no_machine_is_claimed_by_a_query(service: Service) -> None:
    host = service.placement("POST", "/resource_providers", {"name": "host"}).json["uuid"]
    body = {"inventories": {"VCPU": {"total": 4}}, "resource_provider_generation": 0}
    service.placement("PUT", f"/resource_providers/{host}/inventories", body)
    claimed = post(service, query="resources=VCPU:3", status=201).json
    assert claimed["allocations"] == {host: {"resources": {"VCPU": 3}}}
    post(service, query="resources=VCPU:3", status=409)
    assert "one unit of a node's custom class" in message(post(service, query="resources=VCPU:1", wait=9, status=400))


def test_a_machine_that_a_conductor_works_on_is_left_to_those_who_wait(served: Service) -> None:
    node = served.add_node("n1")
    served.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power off"})
    post(served, status=409)
    served.work()
    post(served, status=201)


def test_a_flavor_that_is_stored(served: Service) -> None:
    served.add_node("n1")
    flavor = served.add_flavor("f", specs={"resources:CUSTOM_GOLD": "1", **ZEROS})
    post(served, {"flavor": flavor}, status=201)
    assert "could not be found" in message(post(served, {"flavor": "nosuch"}, status=400))


def test_the_preferred_name_and_the_candidates(served: Service) -> None:
    nodes = [served.add_node(f"n{number}") for number in range(4)]
    assert list(post(served, LIKE_ALLOCATION, name="n2", status=201).json["allocations"]) == [nodes[2]]
    named = post(served, LIKE_ALLOCATION, candidate_nodes=["n3"], status=201).json
    assert list(named["allocations"]) == [nodes[3]]
    post(served, LIKE_ALLOCATION, candidate_nodes=["n3"], status=409)


def test_a_machine_that_others_are_changing_all_the_time(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    served.add_node("n1")
    monkeypatch.setattr(claims, "claim_now", lambda *arguments: None)
    assert message(post(served, status=409)) == "Others are changing all machines that fit. Try again."


# -- waiting -----------------------------------------------------------------------------------------------------------


def test_a_claim_waits_and_is_given_the_machine(served: Service, subtests: pytest.Subtests) -> None:
    for body in [QUERY, LIKE_ALLOCATION, FLAVOR]:
        with subtests.test(body=body), restored(served):
            node = served.add_node("n1")
            first = post(served, status=201).json["uuid"]
            answer = post(served, body, wait=60, consumer={"uuid": UUID}, status=202)
            assert answer.headers["Location"].endswith(UUID)
            shown = answer.json
            assert (shown["state"], shown["position"], shown["allocations"]) == ("waiting", 1, {})
            assert shown["reason"].startswith("No node that matches is free. Of 1 node, 1 ")
            asked_at, deadline = (datetime.fromisoformat(shown[name]) for name in ("asked_at", "deadline"))
            assert (deadline - asked_at).total_seconds() == pytest.approx(60, abs=0.1)
            assert post(served, body, wait=60, status=202).json["position"] == 2
            served.http.delete(f"{CLAIMS}/{first}", status=204)
            shown = show(served)
            assert (shown["state"], shown["allocations"], shown["reason"]) == ("claimed", {node: UNIT}, None)
            assert served.database.snapshot(audit) == []


def test_what_is_impossible_waits_only_if_that_is_said(served: Service) -> None:
    """Guide: 'A claim that no machine would fit, even if all were free, is refused at once … With
    even_if_impossible it waits for machines that are still to be enrolled.'"""
    served.add_node("n1")
    refused = post(served, query="resources=CUSTOM_NEW:1", wait=60, status=409)
    assert "even_if_impossible" in message(refused)
    assert listed(served) == []
    waiting = post(served, query="resources=CUSTOM_NEW:1", wait=60, even_if_impossible=True, status=202).json
    assert waiting["resource_class"] == "CUSTOM_NEW"
    node = served.add_node("n2", resource_class="new")
    assert list(show(served, waiting["uuid"])["allocations"]) == [node]


def test_a_machine_that_is_freed_while_the_claim_is_explained(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    served.add_node("n1")
    first = post(served, status=201).json["uuid"]
    explain = explanation.explain

    def freeing(*arguments: Any, **named: Any) -> Any:
        explained = explain(*arguments, **named)
        served.placement("DELETE", f"/allocations/{first}", status="*")
        return explained

    monkeypatch.setattr("baremetal_sched.explain.explanations.explain", freeing)
    assert post(served, wait=60, status=201).json["state"] == "claimed"


def test_no_time_to_explain(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation, "_PATIENCE", 0)
    served.add_node("n1")
    post(served, status=201)
    with ExitStack() as others:
        for _ in range(explanation.AT_ONCE):
            others.enter_context(explanation.one_of_few())
        assert message(post(served, status=409)) == FALLBACK
        # What could not be explained is not taken for possible.
        refused = post(served, wait=60, status=503)
        assert message(refused).startswith("Nothing is free, and it is unknown whether any machine could fit: 2 expl")
        assert (refused.headers["Retry-After"], len(listed(served))) == ("1", 1)
        assert post(served, wait=60, even_if_impossible=True, status=202).json["reason"] == FALLBACK


def test_the_limits_of_waiting(database_url: str) -> None:
    with Service(database_url, scheduling={"most_waiting": 1, "max_wait": 100}) as service:
        service.add_conductor("r1")
        service.add_node("n1")
        post(service, status=201)
        assert "100 seconds at most" in message(post(service, wait=101, status=400))
        post(service, wait=10**30, status=400)
        post(service, wait=100, status=202)
        assert "most_waiting" in message(post(service, wait=100, status=409))
        post(service, wait=100, consumer={"project_id": "another"}, status=202)


# -- one UUID ----------------------------------------------------------------------------------------------------------


def test_the_same_body_is_the_same_claim(served: Service) -> None:
    served.add_node("n1")
    body = {**QUERY, "consumer": {"uuid": UUID}, "wait": 60}
    assert post(served, body, status=201).json == post(served, body, status=201).json
    waiting = {**body, "consumer": {"uuid": OTHER}}
    assert post(served, waiting, status=202).json == post(served, waiting, status=202).json
    assert "another body" in message(post(served, body, wait=61, status=409))
    served.placement("DELETE", f"/allocations/{UUID}")
    assert post(served, body, status=200).json["state"] == "released"
    assert show(served, OTHER)["state"] == "claimed"
    assert sorted(listed(served)) == [UUID, OTHER]


def test_a_consumer_that_has_something_already(served: Service, subtests: pytest.Subtests) -> None:
    for wait in [0, 60]:
        with subtests.test(wait=wait), restored(served):
            served.claim(UUID, served.add_node("n1"))
            body = {"consumer": {"uuid": UUID}, "wait": wait}
            if wait:
                assert message(post(served, **body, status=409)) == f"Consumer {UUID} has allocations already: " + (
                    "release them, or use a new UUID."
                )
            served.add_node("n2")
            assert "has allocations already" in message(post(served, **body, status=409))
            assert listed(served) == []


def test_a_commit_that_may_have_failed_is_looked_for(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    node = served.add_node("n1")
    write = served.database.write
    lost = iter([True])

    def losing(work: Callable[[Session], Any], **options: Any) -> Any:
        done = write(work, **options)
        if next(lost, False):
            raise CommitUnknown
        return done

    monkeypatch.setattr(served.database, "write", losing)
    claimed = post(served, status=201).json
    assert (list(claimed["allocations"]), listed(served)) == ([node], [claimed["uuid"]])
    lost = iter([False, True])
    assert post(served, wait=60, status=202).json["position"] == 1


def test_two_requests_with_one_uuid_at_the_same_time(
    served: Service, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """The second comes while the first has not looked for it: they are one claim."""
    existing, inner = claims.existing, list[None]()

    def looking(session: Session, uuid: str, digest: str, project: str) -> Any:
        if not inner:
            inner.append(None)
            return None
        return existing(session, uuid, digest, project)

    for wait in [0, 60]:
        with subtests.test(wait=wait), restored(served), monkeypatch.context() as patch:
            inner.clear()
            for number in range(0 if wait else 2):
                served.add_node(f"n{number}")
            body = {**QUERY, "consumer": {"uuid": UUID}, "wait": wait, "even_if_impossible": True}
            first = post(served, body, status=202 if wait else 201).json
            patch.setattr(claims, "existing", looking)
            assert post(served, body, status=202 if wait else 201).json == first
            assert listed(served) == [UUID]


# -- giving back -------------------------------------------------------------------------------------------------------


def test_delete_gives_back_again_and_again(served: Service) -> None:
    served.add_node("n1")
    post(served, consumer={"uuid": UUID}, status=201)
    post(served, wait=60, consumer={"uuid": OTHER}, status=202)
    for uuid in (OTHER, UUID, UUID, str(uuid_module.uuid4())):
        served.http.delete(f"{CLAIMS}/{uuid}", status=204)
    served.http.get(f"{CLAIMS}/{UUID}", status=404)
    assert listed(served) == []
    assert served.candidates("resources=CUSTOM_GOLD:1")
    served.http.delete(f"{CLAIMS}/none", status=404)
    served.http.delete(f"{CLAIMS}/{UUID}?force=1", status=400)


def test_what_waits_elsewhere_is_not_ended_here(served: Service) -> None:
    new = NewWaitingRequest(UUID, "allocation", "CUSTOM_GOLD", NodeRequest("gold").document(), "p", "u", seconds=60)
    served.database.write(lambda session: waiting_requests.enter(session, new, most=9) and None)
    refused = served.http.delete(f"{CLAIMS}/{UUID}", status=409)
    assert message(refused) == f"The UUID {UUID} is that of the allocation: delete the allocation instead."
    assert show(served)["kind"] == "allocation"
    assert listed(served, "kind=allocation") == [UUID]
    assert listed(served, "kind=server") == []


# -- states ------------------------------------------------------------------------------------------------------------


def _late(service: Service, uuid: str) -> None:
    def end(session: Session) -> None:
        found = waiting_requests.find(session, uuid, lock=True)
        assert found is not None
        found.deadline = 1.0

    service.database.write(end)


def test_states_are_derived_in_the_list_as_well(served: Service) -> None:
    served.add_node("n1")
    uuids = {state: str(uuid_module.uuid4()) for state in claims.STATES}
    post(served, consumer={"uuid": uuids["released"]}, status=201)
    served.placement("DELETE", f"/allocations/{uuids['released']}")
    post(served, consumer={"uuid": uuids["claimed"]}, status=201)
    for state in ("timed_out", "failed", "waiting"):
        post(served, wait=60, consumer={"uuid": uuids[state]}, status=202)
    _late(served, uuids["timed_out"])

    def fail(session: Session) -> None:
        found = waiting_requests.find(session, uuids["failed"])
        assert found is not None
        waiting_requests.decide(session, found, "failed", "why")

    served.database.write(fail)
    for state, uuid in uuids.items():
        assert listed(served, f"state={state}") == [uuid]
        assert show(served, uuid)["state"] == state
    everything = served.http.get(CLAIMS).json["claims"]
    assert {each["uuid"]: each["state"] for each in everything} == {uuid: state for state, uuid in uuids.items()}
    assert [each for each in everything if each["uuid"] == uuids["waiting"]] == [show(served, uuids["waiting"])]


def test_the_list_has_filters_and_pages(served: Service) -> None:
    served.add_node("n1", resource_class="silver")
    uuids = [
        post(served, query=f"resources={name}:1", wait=60, even_if_impossible=True,
             consumer={"project_id": project}, status=202).json["uuid"]
        for name, project in (("CUSTOM_A", "p"), ("CUSTOM_A", "q"), ("CUSTOM_B", "p"))
    ]  # fmt: skip
    assert listed(served, "project_id=p") == [uuids[0], uuids[2]]
    assert listed(served, "resource_class=CUSTOM_A") == uuids[:2]
    assert listed(served, "project_id=p&resource_class=CUSTOM_A&state=waiting&kind=claim") == uuids[:1]
    page = served.http.get(f"{CLAIMS}?limit=2&state=waiting").json
    assert [(each["uuid"], each["position"]) for each in page["claims"]] == [(uuids[0], 1), (uuids[1], 2)]
    (link,) = page["claims_links"]
    rest = served.http.get(link["href"]).json
    assert ([each["uuid"] for each in rest["claims"]], "claims_links" in rest) == (uuids[2:], False)
    for wrong in ("state=lost", "kind=none", "limit=0", "nosuch=1", "state=waiting&state=failed"):
        served.http.get(f"{CLAIMS}?{wrong}", status=400)
    served.http.get(f"{CLAIMS}?marker={OTHER}", status=400)


# -- waiting for the decision ------------------------------------------------------------------------------------------


def _waiting(service: Service) -> tuple[str, str]:
    """A node that is in use, and a claim that waits for it."""
    service.add_node("n1")
    first = post(service, status=201).json["uuid"]
    return first, post(service, wait=60, status=202).json["uuid"]


@pytest.fixture
def patient(database_url: str) -> Iterator[Service]:
    """A service whose requests may wait for hours."""
    with Service(database_url, api={"request_timeout": 7200}) as service:
        service.add_conductor("r1")
        yield service


@contextmanager
def meanwhile(service: Service, do: Callable[[], object]) -> Iterator[None]:
    """Do something once a request waits."""
    poller = service.app.decisions._poller

    def wait_and_do() -> None:
        wait_until(lambda: poller._expected, "a request that waits")
        do()

    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(wait_and_do)
        yield
        doing.result()


def test_a_request_waits_until_the_claim_is_decided(patient: Service) -> None:
    """Guide: 'GET /v1/claims/{uuid}?wait=30 is answered as soon as the claim is decided.'"""
    first, waiting = _waiting(patient)
    with meanwhile(patient, lambda: patient.placement("DELETE", f"/allocations/{first}")):
        assert show(patient, waiting, "?wait=3600")["state"] == "claimed"
    # A request about a decided claim is answered at once.
    assert show(patient, waiting, "?wait=3600")["state"] == "claimed"


def test_a_request_waits_until_the_claim_is_gone(patient: Service) -> None:
    _, waiting = _waiting(patient)
    with meanwhile(patient, lambda: patient.http.delete(f"{CLAIMS}/{waiting}")):
        show(patient, waiting, "?wait=3600", status=404)


def test_a_request_waits_no_longer_than_it_may(served: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends five seconds before its time is over."""
    _, waiting = _waiting(served)
    decisions, ends = served.app.decisions, list[float]()
    monkeypatch.setattr(decisions, "wait", lambda uuid, until, project: ends.append(until) or True)
    accepted_at = time.monotonic()
    for seconds in (999_999, 20):
        path = f"{CLAIMS}/{waiting}?wait={seconds}"
        assert served.http.get(path, extra_environ={ACCEPTED_AT: accepted_at}).json["state"] == "waiting"
    assert ends[0] == pytest.approx(accepted_at + load().api.request_timeout - 5)
    assert ends[1] < ends[0]
    show(served, waiting, "?wait=-1", status=400)
    show(served, waiting, "?wait=soon", status=400)


def test_a_wait_ends_at_its_time(served: Service) -> None:
    _, waiting = _waiting(served)
    assert served.app.decisions.wait(waiting, time.monotonic() + 0.05)


def test_requests_that_may_not_wait_hear_the_present_state(database_url: str, subtests: pytest.Subtests) -> None:
    for options in [{"scheduling": {"most_polls": 0}}, {"api": {"max_requests_waiting": 0}}]:
        with subtests.test(options=options), Service(database_url, **options) as service, restored(service):
            service.add_conductor("r1")
            _, waiting = _waiting(service)
            answer = service.http.get(f"{CLAIMS}/{waiting}?wait=30")
            assert (answer.json["state"], answer.headers["Retry-After"]) == ("waiting", "1")
            assert "Retry-After" not in service.http.get(f"{CLAIMS}/{waiting}").headers


def test_one_statement_asks_for_all_who_wait(served: Service) -> None:
    """Guide: 'Ten times a second, one statement of the process asks for all requests that wait in this way.'"""
    _, waiting = _waiting(served)
    waiting_too = post(served, wait=60, status=202).json["uuid"]
    decisions = served.app.decisions
    asked: list[set[str]] = []
    look = decisions._poller._find
    decisions._poller._find = lambda uuids: asked.append(set(uuids)) or look(uuids)
    try:
        until = time.monotonic() + 3600
        threads = [
            threading.Thread(target=decisions.wait, args=(uuid, until)) for uuid in (waiting, waiting, waiting_too)
        ]
        for thread in threads:
            thread.start()
        wait_until(lambda: {waiting, waiting_too} in asked, "one question for both")
        for uuid in (waiting, waiting_too):
            served.http.delete(f"{CLAIMS}/{uuid}")
        for thread in threads:
            thread.join()
        decisions.close()
    finally:
        decisions._poller._find = look


# -- whose -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def secured(database_url: str) -> Iterator[Service]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("r1")
        yield service


def test_tenants_claim_what_they_may_use_for_their_project(secured: Service) -> None:
    """Guide: 'A tenant's claim fits only machines that its project may use.'"""
    of_anna, of_bert = secured.add_node("a", owner="a"), secured.add_node("b", owner="b")
    of_nobody = secured.add_node("n")
    got = [next(iter(post(secured, headers=ANNA, status=201).json["allocations"])) for _ in range(2)]
    assert set(got) == {of_anna, of_nobody}
    said = message(post(secured, headers=ANNA, status=409))
    assert of_bert not in said
    assert post(secured, headers=ANNA, wait=60, status=202).json["consumer"]["project_id"] == "a"
    post(secured, headers=ANNA, consumer={"project_id": "b"}, status=403)
    assert list(post(secured, LIKE_ALLOCATION, headers=BERT, status=201).json["allocations"]) == [of_bert]
    assert "your own project" in message(post(secured, LIKE_ALLOCATION, owner="a", headers=BERT, status=400))
    assert "cannot be found" in message(post(secured, LIKE_ALLOCATION, candidate_nodes=["a"], headers=BERT, status=400))
    assert "custom class" in message(post(secured, query="resources=VCPU:1", headers=ANNA, status=400))
    assert post(secured, headers=ADMIN, wait=60, consumer={"project_id": "b"}, status=202).json["position"] == 2


def test_a_tenant_waits_for_a_machine_of_nobody(secured: Service) -> None:
    secured.add_node("n")
    first = post(secured, headers=ADMIN, status=201).json["uuid"]
    waiting = post(secured, headers=ANNA, wait=60, status=202).json["uuid"]
    secured.http.delete(f"{CLAIMS}/{first}", headers=ADMIN)
    assert show(secured, waiting, headers=ANNA)["state"] == "claimed"


def test_claims_of_others_do_not_exist(secured: Service) -> None:
    secured.add_node("n", owner="a")
    own = post(secured, headers=ANNA, status=201).json["uuid"]
    secured.http.get(f"{CLAIMS}/{own}", headers=BERT, status=404)
    secured.http.delete(f"{CLAIMS}/{own}", headers=BERT, status=204)
    assert listed(secured, headers=BERT) == listed(secured, "project_id=a", headers=BERT) == []
    secured.http.get(f"{CLAIMS}?marker={own}", headers=BERT, status=400)
    assert listed(secured, headers=ANNA) == listed(secured, "project_id=a", headers=ADMIN) == [own]
    reader = {**ANNA, "X-Roles": "reader"}
    assert listed(secured, headers=reader) == [own]
    secured.http.delete(f"{CLAIMS}/{own}", headers=reader, status=403)
    post(secured, headers=reader, status=403)
    post(secured, consumer={"uuid": own}, headers=BERT, status=409)
    secured.http.delete(f"{CLAIMS}/{own}", headers=ADMIN, status=204)


# -- refusals ----------------------------------------------------------------------------------------------------------

DEEP: Any = 1
for _ in range(60):
    DEEP = [DEEP]


def test_bodies_that_are_refused(service: Service, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for body in [
            [],
            {},
            7,
            None,
            {"query": 1},
            {"query": ""},
            {"query": "nosuch=1"},
            {"query": "resources=CUSTOM_GOLD:0"},
            {"query": "resources=CUSTOM_GOLD:1", "flavor": "f"},
            {"query": "resources=CUSTOM_GOLD:1&limit=0"},
            {"query": "resources=%ff:1"},
            {"query": "resources=CUSTOM_GOLD:1&required=\0"},
            {"query": "a" * 100_001},
            {**QUERY, "wait": -1},
            {**QUERY, "wait": "9"},
            {**QUERY, "wait": 1.5},
            {**QUERY, "wait": None},
            {**QUERY, "even_if_impossible": "yes"},
            {**QUERY, "consumer": []},
            {**QUERY, "consumer": {"uuid": "me"}},
            {**QUERY, "consumer": {"project_id": ""}},
            {**QUERY, "consumer": {"type": "host"}},
            {**QUERY, "consumer": {"user_id": "u" * 256}},
            {**QUERY, "consumer": {"name": "n"}},
            {**QUERY, "name": "n1"},
            {**LIKE_ALLOCATION, "node": "n1"},
            {**LIKE_ALLOCATION, "uuid": UUID},
            {**LIKE_ALLOCATION, "extra": {"a": 1}},
            {**LIKE_ALLOCATION, "wanted": 2},
            {"resource_class": "g" * 81},
            {**LIKE_ALLOCATION, "traits": ["a b"]},
            {**LIKE_ALLOCATION, "candidate_nodes": ["nosuch"]},
            {"flavor": {"vcpus": "many"}},
            {"flavor": DEEP},
        ]:
            with subtests.test(body=body):
                answer = service.http.post_json(CLAIMS, body, status=400)
                assert len(message(answer)) < 1500


def test_other_requests_that_are_refused(service: Service) -> None:
    service.http.post(CLAIMS, b"{", content_type="application/json", status=400)
    service.http.post(CLAIMS, b"{}", content_type="text/plain", status=415)
    service.http.post_json(f"{CLAIMS}?wait=1", QUERY, status=400)
    service.http.put_json(CLAIMS, QUERY, status=405)
    service.http.get(f"{CLAIMS}/{UUID}", status=404)
    service.http.get(f"{CLAIMS}/none", status=404)


def test_secrets_do_not_come_back(service: Service) -> None:
    for body in (
        {**QUERY, "consumer": {"password": "s3cr3t-Word"}},
        {**LIKE_ALLOCATION, "extra": {"token": "s3cr3t-Word"}},
    ):
        assert "s3cr3t" not in service.http.post_json(CLAIMS, body, status=400).text


# -- what it costs -----------------------------------------------------------------------------------------------------


def test_statements(served: Service) -> None:
    for name in ("n1", "n2", "n3"):
        served.add_node(name)
    post(served, status=201)
    with served.statements() as claiming:
        first = post(served, status=201).json["uuid"]
    post(served, status=201)
    post(served, wait=60, status=202)
    with served.statements() as handing_over:
        served.http.delete(f"{CLAIMS}/{first}", status=204)
    # Databases of servers remember ids of classes.
    assert len(claiming) <= 12
    assert len(handing_over) <= 28
