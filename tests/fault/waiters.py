"""Clients that claim machines, wait for them, cancel, and give them back through each door."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.fault.caller import Answer, Caller
from tests.fault.claim_journal import FOREVER
from tests.fault.waiting_journal import Waiter, WaitingJournal
from tests.processes import Client

GOLD = "resources=CUSTOM_GOLD:1"
#: What is asked for: half of the machines have the trait.
REQUESTS = (GOLD, GOLD, f"{GOLD}&required=CUSTOM_A")
#: Seconds that a claim waits: not at all, for a moment, for longer than the test.
WAITS = (0, 2, 600, 600)


@dataclass
class WaitingClient(Caller):
    """One client. Its claims are noted in the journal."""

    journal: WaitingJournal = field(default_factory=WaitingJournal)
    findings: list[str] = field(init=False, default_factory=list)
    _mine: list[Waiter] = field(init=False, default_factory=list)

    def act(self) -> None:
        """Ask for a machine, see what became of a claim, or end one."""
        dice = self._dice.random()
        if len(self._mine) < 3 and dice < 0.4:
            self._claim()
        elif self._mine and dice < 0.7:
            self._look(self._dice.choice(self._mine))
        elif self._mine:
            self._end(self._dice.choice(self._mine))

    def _claim(self) -> None:
        wait, request = self._dice.choice(WAITS), self._dice.choice(REQUESTS)
        uuid = str(uuid4())
        body = {"query": request, "wait": wait, "consumer": {"uuid": uuid, "project_id": "p", "user_id": "u"}}
        answer = self._call("claim", self._client.scheduling, "POST", "/claims", body)
        waiter = Waiter(uuid, request, answer.sent, answer.sent + wait)
        if answer.is_done or answer.is_unknown:
            self.journal.waiters.append(waiter)
            self._mine.append(waiter)
        if answer.is_done:
            self._note(waiter, answer)

    def _look(self, waiter: Waiter) -> None:
        path = f"/claims/{waiter.uuid}{self._dice.choice(['', '?wait=1'])}"
        answer = self._call("look", self._client.scheduling, "GET", path)
        if answer.is_done:
            self._note(waiter, answer)
        elif answer.status == 404:
            if waiter.known_since < FOREVER and waiter.ended == FOREVER:
                self.findings.append(f"claim {waiter.uuid} was acknowledged, and is not there")
            self._mine.remove(waiter)

    def _note(self, waiter: Waiter, answer: Answer) -> None:
        state, machine = state_of(answer.body)
        self.findings += waiter.told(state, machine, answer.sent, answer.answered)
        if state in ("timed_out", "failed", "released"):
            self._end(waiter)

    def _end(self, waiter: Waiter) -> None:
        """Delete the claim, or take what it holds away in placement, and then delete it."""
        if waiter.machine and self._dice.random() < 0.3:
            released = self._call("release", self._client.placement, "DELETE", f"/allocations/{waiter.uuid}")
            waiter.ended = min(waiter.ended, released.sent)
        answer = self._call("delete", self._client.scheduling, "DELETE", f"/claims/{waiter.uuid}")
        waiter.ended = min(waiter.ended, answer.sent)
        if answer.is_done:
            waiter.gone = True
            self._mine.remove(waiter)


def state_of(claim: Mapping[str, Any]) -> tuple[str, str]:
    """Return state and machine of a claim as the API shows it."""
    return claim["state"], next(iter(claim["allocations"]), "")


def left(client: Client, waiters: list[Waiter]) -> dict[str, tuple[str, str]]:
    """Return the claims that are there, by UUID."""
    found = {}
    for waiter in waiters:
        answer = client.scheduling("GET", f"/claims/{waiter.uuid}")
        assert answer.status_code in (200, 404), answer.text
        if answer.status_code == 200:
            found[waiter.uuid] = state_of(answer.json())
    return found
