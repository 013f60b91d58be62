"""What the command sends: one claim, or for what the service does not claim, one request to placement."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from baremetal_sched.osc.claim import Claim
from baremetal_sched.osc.client import RequestFailed

A, B = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"
NODES = ("node-1", "node-2")
CANNOT_WAIT = RequestFailed("It names no class.", 400, "scheduling.cannot_wait")
SHARE = RequestFailed("They share.", 400, "scheduling.machines_share")
INVALID = RequestFailed("Invalid.", 400)
FORBIDDEN = RequestFailed("Policy does not allow it.", 403)
NOTHING_FREE = RequestFailed("None is free.", 409, "scheduling.nothing_free")
IN_USE = RequestFailed("The consumer has allocations already.", 409)


class Service:
    """The APIs: those in ``refusals`` refuse each request. ``sent`` are the changes that were requested."""

    def __init__(self, **refusals: RequestFailed) -> None:
        self.session = SimpleNamespace(get_project_id=lambda: None, get_user_id=lambda: None)
        self.sent: list[tuple[str, Any]] = []
        self._refusals = refusals

    def get(self, service: str, path: str, parameters: Any = ()) -> Any:
        """Candidates, or the name of a node."""
        if path != "/allocation_candidates":
            return {"name": None}
        if service in self._refusals:
            raise self._refusals[service]
        held = [{node: {"resources": {"VCPU": 1}}} for node in NODES]
        roots = {node: {"root_provider_uuid": node} for node in NODES}
        return {"allocation_requests": [{"allocations": each} for each in held], "provider_summaries": roots}

    def request(self, service: str, method: str, path: str, body: Any) -> Any:
        """A claim."""
        if path == "/explanations":
            return {"unknown": []}
        self.sent.append((service, body))
        if service in self._refusals:
            raise self._refusals[service]
        machines = [{"number": 1, "consumer": body.get("consumer", {}).get("uuid"), "node": "node-1"}]
        held = {"node-1": {"resources": {"VCPU": 1}}}
        return {"uuid": A, "state": "claimed", "count": 1, "machines": machines, "allocations": held}


def run(service: Service, options: str) -> int:
    """Run the command, and return its exit status."""
    app = SimpleNamespace(
        client_manager=SimpleNamespace(scheduling=service),
        options=SimpleNamespace(deferred_help=False),
        stdout=io.StringIO(),
    )
    command = Claim(app, None)
    parsed = command.get_parser("claim").parse_args([*options.split(), "-f", "json"])
    return command.run(parsed)


def claim(**members: Any) -> dict[str, Any]:
    consumer = {"uuid": A, "type": "INSTANCE"} | members.pop("consumer", {})
    own = {"query": "resources=CUSTOM_GOLD:1", "wait": 0, "even_if_impossible": False, "consumer": consumer}
    return own | members


#: The one body that is sent for each form of the command.
BODIES = {
    "--class gold": claim(),
    "--class gold --trait A --without-trait B --any-trait C,D": claim(
        query="resources=CUSTOM_GOLD:1&required=A,!B&required=in:C,D"
    ),
    "--resource CUSTOM_GOLD=1 --required A": claim(query="resources=CUSTOM_GOLD:1&required=A"),
    "--query resources=CUSTOM_GOLD:1 --wait 1h --even-if-impossible": claim(wait=3600, even_if_impossible=True),
    "--class gold --count 100": claim(count=100),
    "--class gold --count 3 --wait 1m": claim(count=3, wait=60),
    "--class gold --count 2 --spread rack:1 --pack row": claim(
        count=2, spread={"by": "rack", "at_most": 1}, pack={"by": "row"}
    ),
    "--class gold --machine-group db": claim(count=1, group="db"),
    "--class gold --project-id p --user-id u --consumer-type MINE": claim(
        consumer={"project_id": "p", "user_id": "u", "type": "MINE"}
    ),
    "--class gold --attempts 3": claim(),
}


def test_a_claim_is_one_request_without_a_project(subtests: pytest.Subtests) -> None:
    for options, body in BODIES.items():
        with subtests.test(options=options):
            service = Service()
            assert run(service, f"{options} --consumer {A}") == 0
            assert service.sent == [("scheduling", body)]


@pytest.mark.parametrize("refusal", [CANNOT_WAIT, SHARE])
def test_what_the_service_does_not_claim_placement_does(refusal: RequestFailed) -> None:
    service = Service(scheduling=refusal)
    assert run(service, "--resource VCPU=1 --count 2") == 0
    assert [api for api, _ in service.sent] == ["scheduling", "placement"]
    (_, bodies) = service.sent[1]
    assert {tuple(each["allocations"]) for each in bodies.values()} == {("node-1",), ("node-2",)}
    for options in ("--wait 1m", "--spread rack", "--pack rack", "--machine-group db"):
        service = Service(scheduling=refusal)
        assert run(service, f"--resource VCPU=1 --count 2 {options}") == 2
        assert [api for api, _ in service.sent] == ["scheduling"]


def test_many_machines_and_their_consumers_are_placements() -> None:
    consumers = f"--class gold --consumer {A} --consumer {B}"
    service = Service()
    assert run(service, consumers) == 0
    ((api, bodies),) = service.sent
    assert (api, set(bodies)) == ("placement", {A, B})
    service = Service()
    assert run(service, "--class gold --count 101") == 3
    assert service.sent == []
    for options in ("--wait 1m", "--spread rack", "--pack rack", "--machine-group db"):
        for many in (consumers, "--class gold --count 101"):
            service = Service()
            assert run(service, f"{many} {options}") == 2
            assert service.sent == []


def test_who_may_not_use_placement_is_told_what_works() -> None:
    for options, refusals in (
        ("--class gold --count 101", {}),
        (f"--class gold --consumer {A} --consumer {B}", {}),
        ("--resource VCPU=1", {"scheduling": CANNOT_WAIT}),
    ):
        with pytest.raises(RequestFailed, match=r"placement API.*Policy does not allow it.*--count at most 100"):
            run(Service(placement=FORBIDDEN, **refusals), options)


def test_refusals() -> None:
    assert run(Service(scheduling=NOTHING_FREE), "--class gold") == 3
    assert run(Service(scheduling=INVALID), "--class gold") == 2
    for refusal in (IN_USE, FORBIDDEN):
        service = Service(scheduling=refusal)
        with pytest.raises(RequestFailed, match=str(refusal)):
            run(service, "--class gold")
        assert len(service.sent) == 1


def test_a_refusal_names_the_option_of_the_command(caplog: pytest.LogCaptureFixture) -> None:
    text = "Waiting is refused; even_if_impossible allows it."
    assert run(Service(scheduling=RequestFailed(text, 409, "scheduling.never_fits")), "--class gold --wait 1m") == 3
    assert "; --even-if-impossible allows" in caplog.text
    with pytest.raises(RequestFailed, match="; --even-if-impossible allows"):
        run(Service(scheduling=RequestFailed(text, 409)), "--class gold --wait 1m")


def test_names_that_are_empty_are_refused() -> None:
    parser = Claim(None, None).get_parser("claim")
    for options in (("--machine-group", ""), ("--pack", ""), ("--spread", ":1")):
        with pytest.raises(SystemExit):
            parser.parse_args(options)
