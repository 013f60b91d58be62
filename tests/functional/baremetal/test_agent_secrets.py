"""Secrets of agents (their tokens, passwords, and the contents of a config drive) appear nowhere else.

Logs, answers, the history of nodes, the metrics, and the records of commands are searched.
"""

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from baremetal_sched import bounded_http
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.bounded_http import Answer
from baremetal_sched.web.health import METRICS
from tests.emulators.stub_agent import StubAgent
from tests.functional.baremetal.test_agent_commands import IMAGE, MAC, ask, beat, token_of
from tests.restored import Rows
from tests.service import Service

#: Nothing else has these in it.
PASSWORD, IN_DRIVE = "Zy7passwordZy7", "Zy7driveZy7"
DRIVE = {"meta_data": {"public_keys": IN_DRIVE}, "user_data": f"#cloud-config\nchpasswd: {IN_DRIVE}\n"}
DRIVER_INFO = {"ipmi_password": PASSWORD, "deploy_iso": f"https://ann:{PASSWORD}@images.example.org/agent.iso"}
BURN = {"interface": "deploy", "step": "burnin_cpu", "priority": 70}

#: How an agent gets to repeat what it was told.
Trouble = Callable[["Parrot"], None]


class Parrot(StubAgent):
    """An agent that repeats in each error all that it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []
        self.drives: set[str] = set()
        self.refuses = ""

    def exchange(self, method: str, url: str, *, body: bytes | None = None, **options: Any) -> Answer:
        """Add the secrets of this test to all errors."""
        self.told.append(f"{method} {url} {(body or b'').decode()}")
        said = f"cannot do {self.told!r}"
        self.failures = dict.fromkeys(self.failures, said)
        asked = json.loads(body) if body else {"params": {}}
        drive = asked["params"].get("step", {}).get("args", {}).get("configdrive")
        self.drives |= {drive} if drive else set()
        if self.refuses and body and f'"{self.refuses}"'.encode() in body:
            return Answer(500, said, None, said.encode())
        return super().exchange(method, url, body=body, **options)


@pytest.fixture(params=[logging.INFO, pytest.param(logging.DEBUG, marks=pytest.mark.ci)])
def parrot(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Parrot]:
    logger = logging.getLogger()
    before = logger.level
    logger.setLevel(request.param)
    stub = Parrot()
    stub.steps["deploy"] = [BURN]
    monkeypatch.setattr(bounded_http, "exchange", stub.exchange)
    yield stub
    logger.setLevel(before)


TROUBLES: dict[str, Trouble] = {
    "none": lambda agent: None,
    "the image": lambda agent: agent.failures.update(execute_deploy_step=""),
    "the boot loader": lambda agent: agent.failures.update(install_bootloader=""),
    "its steps": lambda agent: agent.failures.update(get_deploy_steps=""),
    "a refusal": lambda agent: setattr(agent, "refuses", "deploy.execute_deploy_step"),
    "a lost answer": lambda agent: agent.trouble.update(execute_deploy_step="lost"),
    "nonsense": lambda agent: agent.trouble.update(execute_deploy_step="garbled"),
}


def internal(service: Service) -> dict[str, Any]:
    found = service.database.read(lambda session: nodes.find(session, "n1").driver_internal_info)
    return dict(found or {})


def test_what_agents_are_told_is_said_nowhere_else(
    service: Service, parrot: Parrot, lines: io.StringIO, row: Rows
) -> None:
    for trouble in TROUBLES:
        with row(trouble):
            parrot.renew()
            uuid = service.add_node("n1", power=False, deploy_interface="direct", driver_info=DRIVER_INFO)
            service.patch("n1", ("add", "/instance_info", {"image_source": IMAGE, "image_checksum": "0" * 64}))
            service.baremetal("POST", "/ports", {"node_uuid": uuid, "address": MAC})
            steps = [
                {"interface": "deploy", "step": "burnin_cpu", "priority": 70, "args": {"admin_password": PASSWORD}}
            ]
            ask(service, "active", configdrive=DRIVE, deploy_steps=steps)
            token = token_of(service)
            TROUBLES[trouble](parrot)
            said: list[str] = []
            for _ in range(8):
                beat(service, token)
                for path in ("/nodes/n1", "/nodes/detail", "/nodes/n1/history?detail=true", "/nodes/n1/states"):
                    said.append(service.baremetal("GET", path).text)
                said.append(service.http.get(METRICS).text)
                record = internal(service).get("agent_command")
                said.append(str({**record, "step": None}) if record else "")
                if "wait" not in service.node("n1")["provision_state"]:
                    break
            state = service.node("n1")["provision_state"]
            assert state == ("active" if trouble in ("none", "nonsense") else "deploy failed")
            said.append(lines.getvalue())
            assert len(parrot.drives) == (trouble != "its steps")
            drives = [drive[40:80] for drive in parrot.drives]
            for secret in (token, PASSWORD, IN_DRIVE, *drives):
                assert [text[max(0, text.find(secret) - 100) :][:200] for text in said if secret in text] == []
                if secret in (token, *drives) or state == "active":
                    assert secret == IN_DRIVE or any(secret in text for text in parrot.told)
