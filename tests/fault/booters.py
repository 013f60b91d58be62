"""Clients that boot servers, look at them and delete them, and remember what they were told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tests.fault.caller import Answer, Caller
from tests.fault.claim_journal import Record

#: So many servers one client has at a time; those in error count.
_SERVERS = 5
_AMOUNTS = {"CUSTOM_GOLD": 1}


@dataclass
class Booter(Caller):
    """One client that boots.

    ``record`` says which machines its servers had for certain: from when one was seen active until its deletion was
    asked for.
    """

    #: The machine of each provider: nodes, by themselves.
    nodes: Mapping[str, str]
    #: What a request for a server says of its flavor and image.
    asked: Mapping[str, Any]
    record: Record = field(init=False)
    #: Which status each server was in when it was seen first and not being built any more.
    settled: dict[str, str] = field(default_factory=dict)
    #: Servers whose creation was confirmed and whose deletion was not asked for; and those of which it was confirmed.
    servers: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.record = Record(self.nodes)
        self._serial = 0

    _refused: ClassVar[tuple[int, ...]] = (404,)

    def act(self) -> None:
        if len(self.servers) < _SERVERS and self._dice.random() < 0.5:
            self._create()
        elif self.servers:
            server = self._dice.choice(self.servers)
            settled = self._look(server)
            if settled and self._dice.random() < 0.3:
                self._delete(server)

    def _create(self) -> None:
        """One server. If it is not known whether there is one now, nothing can be said of it."""
        self._serial += 1
        body = {"server": {"name": f"s{self.number}-{self._serial}", **self.asked}}
        answer = self._call("create", self._client.compute, "POST", "/servers", body)
        if answer.is_done:
            self.record.acknowledged += 1
            self.servers.append(answer.body["server"]["id"])

    def _look(self, server: str) -> bool:
        """See what became of it. Returns whether that is certain, and it is not being built any more."""
        answer = self._call("look", self._client.compute, "GET", f"/servers/{server}")
        if answer.status == 404:
            self.failures.append(f"server {server} was confirmed, and is not there")
            self.servers.remove(server)
            self._release(server, answer)
        if not answer.is_done:
            return False
        shown = answer.body["server"]
        status, node = shown["status"], shown["OS-EXT-SRV-ATTR:hypervisor_hostname"]
        held = self.record.held.get(server)
        if held is not None:
            if (status, node) != ("ACTIVE", next(iter(held))):
                self.failures.append(f"server {server} was active on {[*held]}, and is {status} on {node}")
        elif status != "BUILD":
            self.settled[server] = status
        if status == "ACTIVE" and held is None:
            self.record.holds_now(answer.sent, answer.answered, {server: {node: _AMOUNTS}})
        return bool(status != "BUILD")

    def _delete(self, server: str) -> None:
        answer = self._call("delete", self._client.compute, "DELETE", f"/servers/{server}")
        if answer.is_done or answer.is_unknown:
            self.servers.remove(server)
            if answer.is_done:
                self.deleted.append(server)
            self._release(server, answer)
        else:
            self.failures.append(f"server {server} cannot be deleted: {answer.status} {answer.body}")

    def _release(self, server: str, answer: Answer) -> None:
        if server in self.record.held:
            self.record.holds_now(answer.sent, answer.answered, {server: {}})
