"""An agent that is refused is told nothing; one line in the log says why, for which addresses and nodes."""

from typing import Any

import pytest

from tests.service import Service

SHARED, OWN = "52:54:00:00:00:01", ("52:54:00:00:00:11", "52:54:00:00:00:12")
UNKNOWN = "52:54:00:00:00:99"


@pytest.fixture
def uuids(service: Service) -> list[str]:
    """Two nodes, of which the second waits for an inspection; both have a network device with the same address."""
    service.add_conductor("c1")
    found = [service.add_node(f"n{number}", power=False, inspect_interface="agent") for number in (1, 2)]
    for uuid, address in zip(found, OWN, strict=True):
        service.baremetal("POST", "/ports", {"node_uuid": uuid, "address": address})
    for verb in ("manage", "inspect"):
        service.baremetal("PUT", "/nodes/n2/states/provision", {"target": verb})
        service.work()
    return found


def _warnings(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    messages: list[Any] = [record.msg for record in caplog.records if record.levelname == "WARNING"]
    return [message for message in messages if "agent" in message["event"]]


def _report(service: Service, *addresses: str, query: str = "", status: int = 404) -> Any:
    interfaces = [{"name": f"eth{number}", "mac_address": mac} for number, mac in enumerate(addresses)]
    body = {"inventory": {"interfaces": interfaces}}
    return service.baremetal("POST", f"/continue_inspection{query}", body, status=status)


def _look_up(service: Service, query: str) -> Any:
    return service.baremetal("GET", f"/lookup?{query}", status=404)


def _beat(service: Service, uuid: str) -> Any:
    body = {"callback_url": "http://192.0.2.7:9999", "agent_token": "wrong", "agent_version": "13"}
    return service.baremetal("POST", f"/heartbeat/{uuid}", body, status=400)


def test_one_line_says_why(
    service: Service, uuids: list[str], caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests
) -> None:
    first, second = uuids
    several, unexpected = "its addresses belong to several nodes", "is in provision state"
    nothing = "no node is known by this UUID and these addresses together"
    undiscovered = "no node that waits for an inspection has any of its addresses"
    for name, ask, reason, addresses, nodes in [
        ("report of two", lambda: _report(service, *OWN), several, [*OWN], uuids),
        ("lookup of two", lambda: _look_up(service, f"addresses={','.join(OWN)}"), several, [*OWN], uuids),
        ("lookup", lambda: _look_up(service, f"addresses={OWN[0]}"), unexpected, [OWN[0]], [first]),
        ("lookup by UUID", lambda: _look_up(service, f"node_uuid={first}"), unexpected, None, [first]),
        ("lookup of none", lambda: _look_up(service, f"addresses={UNKNOWN}"), nothing, [UNKNOWN], None),
        ("report", lambda: _report(service, OWN[0]), unexpected, [OWN[0]], [first]),
        ("report of none", lambda: _report(service, UNKNOWN), undiscovered, [UNKNOWN], None),
        ("two facts", lambda: _report(service, OWN[1], query=f"?node_uuid={first}"), nothing, [OWN[1]], None),
        ("heartbeat", lambda: _beat(service, second), "Invalid or missing agent token", None, None),
    ]:
        with subtests.test(msg=name):
            caplog.clear()
            said = ask().text
            (line,) = _warnings(caplog)
            assert reason in line["reason"]
            assert (line.get("addresses"), line.get("nodes") and sorted(line["nodes"])) == (
                addresses,
                nodes and sorted(nodes),
            )
            if name != "heartbeat":
                assert "Resource could not be found." in said
                assert line["reason"] not in said
                assert not any(each in said for each in (*OWN, *uuids))


def test_an_agent_that_is_taken_leaves_no_such_line(
    service: Service, uuids: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    service.baremetal("GET", f"/lookup?addresses={OWN[1]}")
    _report(service, OWN[1], SHARED, status=202)
    assert _warnings(caplog) == []
