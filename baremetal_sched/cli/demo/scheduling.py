"""The steps of the demo that Ironic, Placement and Nova do not have: explain, hold, wait, have a machine for a time,
spread over racks."""

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from baremetal_sched.cli.demo.asking import AGAIN, CUDA_7, GENERAL, GPU, STORAGE, Asking, listed
from baremetal_sched.cli.demo.client import DemoFailed, Wish

_COOLED = "CUSTOM_LIQUID_COOLED"
_NOTHING = Wish(STORAGE, required=(_COOLED,))
_GPUS = Wish(GPU, any_of=CUDA_7)
_GENERAL = Wish(GENERAL)
_REASON = "Fan 3 is loud"

#: Seconds between two questions for a claim that ends.
_PAUSE = 0.2

#: Seconds for which one request waits for a decision, and after which the demo stops waiting.
_POLL, _PATIENCE = 30, 300


class Scheduling(Asking):
    """The steps, after the fleet was enrolled."""

    def tell(self) -> None:
        """Run all steps. Raises DemoFailed if they cannot continue."""
        self.explain()
        self.hold()
        self.wait()
        self.for_a_time()
        self.spread()

    def explain(self) -> None:
        """Ask why nothing fits, and which change would help."""
        self.show.chapter("Ask why nothing fits, and what would help")
        answer = self._send("GET", f"/explanations?{_NOTHING.query}")
        found = self.document("GET /v1/explanations", answer)
        verdict = found["verdict"]
        self.show.check(f"{verdict}: {found['summary']}", verdict == "impossible", f"the verdict is {verdict}")
        expected = replace(_NOTHING, required=()).answer(self.machines)
        helps = {len(each["drop"]): each["would_fit"] for each in found["relaxations"] if _COOLED in str(each["drop"])}
        said = f"Without the condition on {_COOLED}, {len(expected)} would fit: {listed(expected)}"
        self.show.check(said, helps == {1: len(expected)}, f"the service says {found['relaxations']}")

    def hold(self) -> None:
        """Hold a machine with a reason, see that it is not offered, and release it."""
        self.show.chapter("Hold a machine, with a reason")
        name = min(_GPUS.answer(self.machines))
        hold = self._made("POST", f"/nodes/{name}/holds", {"type": "operator_hold", "reason": _REASON})
        self.offers(f"{AGAIN} {name} is not offered", _GPUS, claimed={name})
        path = f"/nodes/{name}/availability"
        found = self.document(path, self._send("GET", path))
        reasons = [each["reason"] for each in found["reasons"]]
        said = f"{name} is not on offer: {' '.join(reasons)}"
        self.show.check(said, not found["offered"] and _REASON in said, f"{name}: {found}")
        self._delete(f"/nodes/{name}/holds/{hold['uuid']}", f"The hold of {name} is released")
        self.offers(f"{AGAIN} {name} is back", _GPUS)

    def wait(self) -> None:
        """Claim all machines of a kind; another claim waits, and gets the one that is given back."""
        self.show.chapter("Wait, and get the machine that is given back")
        free = sorted(_GPUS.answer(self.machines))
        claims = [self._made("POST", "/claims", {"query": _GPUS.query}) for _ in free]
        self._check_machines("All are claimed", [name for claim in claims for name in self._names_of(claim)], free)
        waiting = self._made("POST", "/claims", {"query": _GPUS.query, "wait": 600}, 202)
        position = (waiting["state"], waiting["position"])
        said = f"The next claim waits, at position 1 of the queue: {waiting['reason']}"
        self.show.check(said, position == ("waiting", 1), f"it is {waiting}")
        given_back = self._names_of(claims[0])
        self._delete(f"/claims/{claims[0]['uuid']}", f"{listed(given_back)} is given back")
        decided = self._decided(waiting["uuid"])
        self._check_machines("The claim that waited has it", self._names_of(decided), given_back)
        for claim in (*claims[1:], waiting):
            self._delete(f"/claims/{claim['uuid']}", "A claim is canceled")
        self.offers(f"{AGAIN} all are back", _GPUS)

    def for_a_time(self) -> None:
        """Claim a machine for a moment, move its end nearer, and wait until it is back by itself."""
        self.show.chapter("A machine for a time, which comes back by itself")
        claim = self._made("POST", "/claims", {"query": _GPUS.query, "for": 8 * 3600})
        path, names = f"/claims/{claim['uuid']}", self._names_of(claim)
        said = f"{listed(names)} is claimed until {claim['until']}"
        self.show.check(said, claim["end"] == "set" and bool(claim["until"]), f"the service says {claim}")
        self._made("PATCH", path, {"for": 1}, 200)
        until = time.monotonic() + _PATIENCE
        while (state := self._state_of(path)) == "claimed" and time.monotonic() < until:
            time.sleep(_PAUSE)
        said = "Its end was moved to the next second, and it came back by itself"
        self.show.check(said, state == "released", f"the claim is {state}")
        self.offers(f"{AGAIN} all are back", _GPUS)

    def _state_of(self, path: str) -> str:
        found: str = self.document(path, self.client.scheduling("GET", path))["state"]
        return found

    def spread(self) -> None:
        """Make racks of a property of the nodes, and claim three machines of which no two are in the same rack."""
        self.show.chapter("Three machines, no two in the same rack")
        racks = {machine.name: machine.fields["properties"]["rack"] for machine in self.machines}
        made = self._made("POST", "/domains/from_property", {"level": "rack", "property": "rack"}, 200)
        said = f"Racks are made of the property of each node: {listed(made['created'])}"
        self.show.check(said, set(made["created"]) == set(racks.values()), f"the service made {made}")
        asked: dict[str, Any] = {"query": _GENERAL.query, "count": 3, "spread": {"by": "rack", "at_most": 1}}
        claim = self._made("POST", "/claims", asked)
        names = self._names_of(claim)
        said = f"Three are claimed: {', '.join(f'{name} in {racks.get(name)}' for name in sorted(names))}"
        right = len(names) == 3 and set(names) <= _GENERAL.answer(self.machines)
        self.show.check(said, right and len({racks[name] for name in names}) == 3, f"the service gives {listed(names)}")
        self._delete(f"/claims/{claim['uuid']}", "They are given back")
        refused = self._send("POST", "/claims", {**asked, "count": 4})
        self.judge(
            "Four in three racks are refused, and nothing is claimed", refused, 409, ["at most 1 in the same rack"]
        )

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        self.show.request(method, f"/scheduling/v1{path}")
        return self.client.scheduling(method, path, body)

    def _made(self, method: str, path: str, body: Any, status: int = 201) -> dict[str, Any]:
        """Return what a request made. Raises DemoFailed if it did not."""
        answer = self._send(method, path, body)
        if answer.status != status:
            self.show.check(f"{method} {path}", right=False, otherwise=f"{answer.status} {answer.message}")
            raise DemoFailed("The following steps depend on it.")
        made: dict[str, Any] = answer.body
        return made

    def _delete(self, path: str, said: str) -> None:
        self.judge(said, self._send("DELETE", path), 204)

    def _decided(self, uuid: str) -> dict[str, Any]:
        until = time.monotonic() + _PATIENCE
        while True:
            path = f"/claims/{uuid}?wait={_POLL}"
            claim = self.document(path, self._send("GET", path))
            if claim["state"] != "waiting" or time.monotonic() > until:
                return claim

    def _names_of(self, claim: dict[str, Any]) -> list[str]:
        return [self.names.get(each["node"], str(each["node"])) for each in claim["machines"]]

    def _check_machines(self, said: str, names: Iterable[str], expected: Iterable[str]) -> None:
        found, wanted = listed(names), listed(expected)
        self.show.check(f"{said}: {wanted}", found == wanted, f"the service says {found}")
