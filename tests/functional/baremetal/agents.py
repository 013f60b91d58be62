"""Requests and reports of agents on n1, for tests of agents."""

from typing import Any

from tests.service import Service

MAC = "52:54:00:00:00:01"
URL = "http://192.0.2.1:9999"
IMAGE = {"image_source": "http://images.example.org/x.raw", "image_checksum": "0" * 64}
#: The recorded facts about an agent's hardware managers afterwards.
VERSION = {"hardware_manager_version": {"generic_hardware_manager": "1.2"}}


def do(service: Service, verb: str, **more: Any) -> None:
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": verb, **more})
    service.work()


def state(service: Service) -> str:
    return str(service.node("n1")["provision_state"])


def internal_info(service: Service) -> dict[str, Any]:
    """The recorded facts about the agent, and about its steps."""
    info: dict[str, Any] = service.node("n1")["driver_internal_info"]
    return {name: value for name, value in info.items() if name != "last_power_state_change"}


def inspect(service: Service) -> None:
    do(service, "manage")
    do(service, "inspect")
    assert state(service) == "inspect wait"


def look_up(service: Service, query: str = f"addresses={MAC}", **options: Any) -> Any:
    return service.baremetal("GET", f"/lookup?{query}", **options)


def beat(service: Service, token: str | None, *, status: int = 202, version: str = "1.115", **more: Any) -> Any:
    body = {"callback_url": URL, "agent_token": token, "agent_version": "11.0", **more}
    given = {name: value for name, value in body.items() if value is not None}
    response = service.baremetal("POST", "/heartbeat/n1", given, version=version, status=status)
    service.work()
    return response


def beat_until_done(service: Service, token: str) -> None:
    """Have the agent report until nothing waits for it."""
    for _ in range(10):
        beat(service, token)
        if "wait" not in state(service):
            return
    raise AssertionError(state(service))


def token_of(service: Service) -> str:
    return str(look_up(service).json["config"]["agent_token"])
