"""A request that may have been done, but was not answered in time: 504 in the shape of each API, without a proposal to
try again."""

import pytest

from baremetal_sched.db.transaction import Database
from baremetal_sched.errors.baremetal import DriverTimeout
from tests.service import Service, fault

MESSAGE = (
    "Node n1 did not answer within 30 seconds to: power off. It may have been completed, or may still be in progress"
)


@pytest.fixture(autouse=True)
def unanswered(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_timeout(*arguments: object, **options: object) -> None:
        raise DriverTimeout(subject="Node n1", seconds=30, method="power off")

    for name in ("read", "select", "write"):
        monkeypatch.setattr(Database, name, raise_timeout)


def test_bare_metal(service: Service) -> None:
    response = service.baremetal("GET", "/nodes/n1", status=504)
    assert fault(response).startswith(MESSAGE)
    assert response.json["error_message"].startswith('{"faultcode":"Server"')
    assert "Retry-After" not in response.headers


def test_placement(service: Service) -> None:
    (error,) = service.placement("GET", "/resource_providers", status=504).json["errors"]
    assert (error["status"], error["title"]) == (504, "Gateway Timeout")
    assert MESSAGE in error["detail"]


def test_compute(service: Service) -> None:
    response = service.compute("GET", "/servers", status=504)
    assert response.json["computeFault"]["code"] == 504
    assert response.json["computeFault"]["message"].startswith(MESSAGE)
    assert "Retry-After" not in response.headers


def test_image_and_scheduling(service: Service) -> None:
    assert MESSAGE in service.http.get("/image/v2/images", status=504).text
    body = {"flavor": {"resources": {"CUSTOM_GOLD": 1}}}
    assert MESSAGE in service.http.post_json("/scheduling/v1/requests", body, status=504).text
