"""The API of the agent on a machine: ironic-python-agent's, version 1.

The agent's token is in the query of each URL. So no URL is part of any message.
"""

import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote, urlencode

import orjson

from baremetal_sched import bounded_http
from baremetal_sched.allowed_hosts import AddressRefused, AllowedHosts, allowed_hosts
from baremetal_sched.bounded_http import CallFailed
from baremetal_sched.documents.schema import parse_flag
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import agent_info
from baremetal_sched.machines.machine import Machine
from baremetal_sched.masking import MASK, mask_text
from baremetal_sched.settings import Settings

#: An object of JSON, as agents send and get them.
Document = Mapping[str, Any]

#: The largest answer that is read, in bytes: lists of steps and of commands have some thousands.
_LARGEST = 4 * 2**20
#: The longest sentence of an agent that is repeated, in characters.
_LONGEST = 1000
#: Agents have run some dozens of commands. Their ids are stored, so both numbers are limited.
_MOST_COMMANDS, _LONGEST_ID = 1000, 255

RUNNING, SUCCEEDED = "RUNNING", "SUCCEEDED"
#: The agent's hardware managers have other versions than the command was made for.
_MISMATCHES = ("CLEAN_VERSION_MISMATCH", "VERSION_MISMATCH")


class AgentFailed(InvalidValue):
    """The agent refused something, or gave an answer that makes no sense. ``sent``: it may have begun the command in
    spite of that."""

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message=message)
        self.sent = sent


class AgentBusy(AgentFailed):
    """The agent is still executing another command."""


class AgentUnreachable(AgentFailed):
    """There was no answer."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(f"the agent on the machine cannot be reached: {reason}", sent=sent)


@dataclass(frozen=True)
class AgentAnswer:
    """A command as its agent sees it: ``name`` is without the extension, ``error`` a sentence."""

    id: str
    name: str
    status: str
    result: Any
    error: str

    @property
    def is_running(self) -> bool:
        """Return whether the agent is still executing the command."""
        return self.status == RUNNING

    @property
    def is_mismatch(self) -> bool:
        """Return whether the command was refused because the agent's hardware managers have changed."""
        return self.status in _MISMATCHES


class AgentClient:
    """Requests to one agent. Each takes ``[agent] command_timeout`` seconds at most."""

    def __init__(
        self, url: str, token: str, hosts: AllowedHosts, context: ssl.SSLContext | None, timeout: float
    ) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._hosts = hosts
        self._context = context
        self._timeout = timeout

    @classmethod
    def of(cls, machine: Machine) -> Self:
        """Return the client for the agent that was last heard of. Raises AgentUnreachable if none was."""
        known, settings = machine.driver_internal_info, machine.settings
        if not known.get(agent_info.URL):
            raise AgentUnreachable("none was heard of", sent=False)
        token = known.get(agent_info.TOKEN) or ""
        url = str(known[agent_info.URL])
        context = _restricted(_trusted(machine), settings) if url.startswith("https:") else None
        return cls(url, token, allowed_hosts(settings), context, settings.agent.command_timeout)

    def commands(self) -> list[AgentAnswer]:
        """Return all commands that the agent knows, the oldest first. Raises AgentFailed."""
        document = self._ask("GET", "/v1/commands/")
        listed = document.get("commands")
        if not isinstance(listed, list) or len(listed) > _MOST_COMMANDS:
            raise _nonsense("a list of commands")
        return [self._answer(each) for each in listed]

    def command(self, command_id: str) -> AgentAnswer | None:
        """Return a command; None if the agent does not know it. Raises AgentFailed."""
        try:
            return self._answer(self._ask("GET", f"/v1/commands/{quote(command_id, safe='')}"))
        except _NotKnown:
            return None

    def send(self, name: str, params: Document) -> AgentAnswer:
        """Have the agent execute a command, for example ``standby.sync``; one that takes long is RUNNING afterwards.

        Raises AgentFailed.
        """
        body = orjson.dumps({"name": name, "params": params})
        return self._answer(self._ask("POST", "/v1/commands/", body, wait="false"))

    def _ask(self, method: str, path: str, body: bytes | None = None, **query: str) -> dict[str, Any]:
        asked = urlencode({**query, "agent_token": self._token})
        try:
            answer = bounded_http.exchange(
                method,
                f"{self._url}{path}?{asked}",
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                body=body,
                hosts=self._hosts,
                deadline=time.monotonic() + self._timeout,
                context=self._context,
                most=_LARGEST,
            )
        except AddressRefused as error:
            raise AgentFailed(f"the agent on the machine must not be contacted: {error}") from None
        except CallFailed as error:
            raise AgentUnreachable(self._sentence(str(error)), sent=error.sent) from None
        try:
            document = orjson.loads(answer.body)
        except ValueError:
            document = None
        if not 200 <= answer.status < 300:
            raise self._refusal(answer, document)
        if not isinstance(document, dict):
            raise _nonsense("a JSON object")
        return document

    def _refusal(self, answer: bounded_http.Answer, document: Any) -> AgentFailed:
        said = document.get("faultstring") if isinstance(document, dict) else None
        text = self._sentence(said or answer.reason)
        if answer.status == 404:
            return _NotKnown(f"the agent on the machine does not know that: {text}")
        kind = AgentBusy if answer.status == 409 else AgentFailed
        message = f"the agent on the machine refused the request ({answer.status}): {text}"
        return kind(message, sent=answer.status >= 500)

    def _answer(self, document: Any) -> AgentAnswer:
        found = document if isinstance(document, dict) else {}
        command_id, name, status = (found.get(key) for key in ("id", "command_name", "command_status"))
        if not (isinstance(command_id, str) and isinstance(name, str) and isinstance(status, str)):
            raise _nonsense("a command")
        if len(command_id) > _LONGEST_ID:
            raise _nonsense("a command")
        error = found.get("command_error")
        if isinstance(error, dict):
            error = error.get("details") or error.get("message") or error.get("type")
        name = name.rpartition(".")[2]
        return AgentAnswer(command_id, name, status, found.get("command_result"), self._sentence(error))

    def _sentence(self, said: object) -> str:
        """Return an agent's words as a part of a message: on one line, short, and without secrets."""
        text = said if said and isinstance(said, str) else "it is not said why"
        # A secret that is cut is no longer recognized.
        text = mask_text(text.replace(self._token, MASK) if self._token else text)[:_LONGEST]
        return "".join(letter if letter.isprintable() else " " for letter in text)


class _NotKnown(AgentFailed):
    pass


def _nonsense(expected: str) -> AgentFailed:
    return AgentFailed(f"the agent on the machine answered with something that is not {expected}.", sent=True)


def _restricted(context: ssl.SSLContext, settings: Settings) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion[f"TLSv{settings.agent.tls_minimum_version.replace('.', '_')}"]
    if settings.agent.tls_ciphers:
        try:
            context.set_ciphers(settings.agent.tls_ciphers)
        except ssl.SSLError:
            raise AgentFailed("[agent] tls_ciphers has no cipher that can be used.") from None
    return context


def _trusted(machine: Machine) -> ssl.SSLContext:
    """Return the certificates that are trusted: the one that the agent sent with its heartbeat, or else the ones that
    ``driver_info`` or ``[agent] verify_ca`` names. Raises AgentFailed if there are none at that path."""
    own = machine.driver_internal_info.get(agent_info.VERIFY_CA)
    if own:
        return _pinned(own)
    named = machine.driver_info.get(agent_info.VERIFY_CA, machine.settings.agent.verify_ca)
    verify = named if isinstance(named, str) and os.sep in named else parse_flag(agent_info.VERIFY_CA, named)
    try:
        return bounded_http.trusting(verify)
    except (OSError, ssl.SSLError):
        raise AgentFailed(f"the certificates for the agent, {agent_info.VERIFY_CA}, cannot be read.") from None


def _pinned(certificate: str) -> ssl.SSLContext:
    """Trust this certificate only, even if it is not that of an authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=certificate)
    except (TypeError, ValueError, ssl.SSLError):
        raise AgentFailed("the agent on the machine sent a certificate that cannot be read.") from None
    return context
