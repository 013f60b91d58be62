"""Names that look like those of placement: the error names the right one."""

from unittest.mock import Mock

import pytest

from baremetal_sched.baremetal.provider import projection
from tests.restored import Rows
from tests.service import Service, fault


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Mock:
    log = Mock()
    monkeypatch.setattr(projection, "log", log)
    return log


def test_a_trait_without_custom(service: Service, row: Rows) -> None:
    for method, path, body in [
        ("PUT", "/nodes/n/traits/NVME", None),
        ("PUT", "/nodes/n/traits", {"traits": ["NVME"]}),
        ("POST", "/deploy_templates", {"name": "NVME", "steps": []}),
        ("POST", "/allocations", {"resource_class": "gold", "traits": ["NVME"]}),
        ("GET", "/nodes?traits=NVME", None),
    ]:
        with row(method, path, body):
            service.add_node("n", power=False)
            answer = service.baremetal(method, path, body, status=400)
            assert "Did you mean CUSTOM_NVME?" in fault(answer)


def test_placement_keeps_its_texts(service: Service) -> None:
    answer = service.placement("PUT", "/traits/NVME", status=400)
    assert "Did you mean" not in answer.text


def test_a_class_with_custom_is_warned_of_when_a_node_is_created(service: Service, log: Mock) -> None:
    body = {"driver": "fake-hardware", "resource_class": "CUSTOM_GOLD"}
    made = service.baremetal("POST", "/nodes", body, status=201)
    text = (
        "In placement the resource class of this node is CUSTOM_CUSTOM_GOLD, as every class of a node gets the prefix "
        "CUSTOM_. Set it without its own CUSTOM_ if CUSTOM_GOLD is meant."
    )
    assert made.headers["Warning"] == f'299 - "{text}"'
    log.warning.assert_called_once_with(text, node=made.json["uuid"], resource_class="CUSTOM_GOLD")


def test_and_when_it_is_set(service: Service, log: Mock) -> None:
    uuid = service.add_node("n", power=False)
    log.reset_mock()
    answer = service.patch("n", ("replace", "/resource_class", 'Custom_"\r\nX: y'))
    assert "CUSTOM_CUSTOM_X_Y," in answer.headers["Warning"]
    assert "X" not in answer.headers
    assert log.warning.call_args.kwargs["node"] == uuid
    # Not again with each change of something else.
    log.reset_mock()
    assert "Warning" not in service.patch("n", ("add", "/extra/a", 1)).headers
    assert not log.warning.called


def test_other_classes_are_not(service: Service, log: Mock, row: Rows) -> None:
    for name in ["gold", "customer", None]:
        with row(name):
            body = {"driver": "fake-hardware", "resource_class": name}
            assert "Warning" not in service.baremetal("POST", "/nodes", body).headers
            assert not log.warning.called
