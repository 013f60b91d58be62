"""One tenant does not take all explanations and all long polls of a process."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from baremetal_sched.baremetal.matching import explanation
from tests.service import Service

ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "member,reader"}
BERT = {"X-Auth-Token": "bert:b", "X-Roles": "member,reader"}
ASKED = "/scheduling/v1/explanations?resources=CUSTOM_GOLD:1"
IMPOSSIBLE = {"query": "resources=CUSTOM_GOLD:1&required=CUSTOM_NONE", "wait": 60}


@pytest.fixture
def service(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(explanation, "_PATIENCE", 0)
    with Service(database_url, api={"auth_strategy": "noauth2"}, scheduling={"most_polls": 2}) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        yield service


def claim(service: Service, by: Any, body: Any, status: int) -> Any:
    return service.http.post_json("/scheduling/v1/claims", body, headers=by, status=status).json


def test_explanations(service: Service) -> None:
    with ExitStack() as busy:
        busy.enter_context(explanation.one_of_few("a"))
        with pytest.raises(explanation.TooManyExplanations), explanation.one_of_few("a"):
            pass
        service.http.get(ASKED, headers=ANNA, status=503)
        # Requests of others are explained, and impossible ones are refused.
        service.http.get(ASKED, headers=BERT)
        assert "no machine would fit" in claim(service, BERT, IMPOSSIBLE, 409)["error"]["message"]
        assert "it is unknown" in claim(service, ANNA, IMPOSSIBLE, 503)["error"]["message"]
    claim(service, ANNA, IMPOSSIBLE, 409)


def test_long_polls(service: Service) -> None:
    """Of two places one is anna's, and it is taken."""
    claim(service, ANNA, {"query": "resources=CUSTOM_GOLD:1"}, 201)
    waiting = {"query": "resources=CUSTOM_GOLD:1", "wait": 60}
    uuids = {name: claim(service, by, waiting, 202)["uuid"] for name, by in (("a", ANNA), ("b", BERT))}
    decisions = service.app.decisions
    with decisions._places.place("a"):
        answer = service.http.get(f"/scheduling/v1/claims/{uuids['a']}?wait=3600", headers=ANNA)
        assert (answer.json["state"], answer.headers["Retry-After"]) == ("waiting", "1")
        with decisions._places.place("b") as is_free:
            assert is_free
