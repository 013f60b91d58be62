# tier: first
"""Numbers and documents that are larger than a server expects: none of them is answered with 500."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baremetal_sched.baremetal.api import alternatives
from baremetal_sched.db.documents import MAX_DEPTH, DocumentTooDeep
from baremetal_sched.db.models import Node
from baremetal_sched.drivers.fake.hardware import FakeVendor
from baremetal_sched.drivers.fake.provisioning import FakeRescue
from baremetal_sched.machines.machine import Effect
from tests.functional.baremetal.provisioning import do, enrol, put_into
from tests.restored import restored
from tests.service import Service, fault

DIGITS = "9" * 5000
LARGE = [2**63, 2**64, -(2**63) - 1, 10**4000]


def test_a_microversion_of_thousands_of_digits(service: Service, subtests: pytest.Subtests) -> None:
    for version in [f"1.{DIGITS}", f"{DIGITS}.1", f"1.-{DIGITS}"]:
        for path in ["/nodes", "/nodes/n1.json", "/nosuch.json"]:
            with subtests.test(version=version, path=path):
                service.baremetal("GET", path, version=version, status=[404, 406])
                service.baremetal(
                    "GET", path, headers={"OpenStack-API-Version": f"baremetal {version}"}, status=[404, 406]
                )


def test_a_placement_microversion_of_thousands_of_digits(service: Service, subtests: pytest.Subtests) -> None:
    for version in [f"1.{DIGITS}", f"{DIGITS}.1", DIGITS]:
        with subtests.test(version=version):
            response = service.placement("GET", "/resource_providers", version=version, status=[400, 406])
            assert response.json["errors"]


def test_a_number_of_thousands_of_digits_is_refused_without_advice_for_programmers(service: Service) -> None:
    body = b'{"driver": "fake-hardware", "extra": {"a": %s}}' % DIGITS.encode()
    for path in ("/baremetal/v1/nodes", "/placement/resource_providers"):
        headers = {"Content-Type": "application/json", "X-OpenStack-Ironic-API-Version": "1.80"}
        response = service.http.post(path, body, headers, status=400)
        assert "a number has too many digits" in response.text
        assert "sys." not in response.text


@given(st.text(st.sampled_from("/v1nodes.j٣9"), max_size=12), st.text(st.sampled_from("1.٣9 x"), max_size=12))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_path_and_version_can_be_rewritten(path: str, version: str) -> None:
    header = "HTTP_X_OPENSTACK_IRONIC_API_VERSION"
    for suffix in ("", ".json", DIGITS):
        alternatives.rewrite({"PATH_INFO": f"/{path}.json", header: version + suffix})


def test_integers_of_any_size_come_back(service: Service, subtests: pytest.Subtests) -> None:
    for number in LARGE:
        with subtests.test(number=number), restored(service):
            extra = {"a": number, "list": [number, {"b": number}], "text": "é"}
            node = service.baremetal(
                "POST", "/nodes", {"driver": "fake-hardware", "extra": extra, "driver_info": extra}
            ).json
            path = f"/nodes/{node['uuid']}"
            patched = service.patch_at(path, ("add", "/extra/c", number), ("add", "/driver_info/password", "x")).json
            for shown in (patched, service.baremetal("GET", path).json):
                assert shown["extra"] == extra | {"c": number}
                assert shown["driver_info"] == extra | {"password": "******"}
            allocation = service.baremetal(
                "POST", "/allocations", {"resource_class": "X", "extra": extra}, status=201
            ).json
            path = f"/allocations/{allocation['uuid']}"
            patched = service.patch_at(path, ("add", "/extra/c", number)).json
            for shown in (patched, service.baremetal("GET", path).json):
                assert shown["extra"] == extra | {"c": number}
            assert service.baremetal("GET", "/allocations").json["allocations"][0]["extra"] == extra | {"c": number}


def nested(levels: int) -> Any:
    return {"a": nested(levels - 1)} if levels else 1


def test_what_could_not_be_shown_is_not_stored_whoever_made_it(service: Service, subtests: pytest.Subtests) -> None:
    for column in ["extra", "driver_info", "driver_internal_info", "raid_config", "clean_step"]:
        with subtests.test(column=column), restored(service):
            uuid = service.add_node("n1", power=False)
            service.set_columns(uuid, **{column: nested(MAX_DEPTH)})
            service.baremetal("GET", f"/nodes/{uuid}")
            for levels in (MAX_DEPTH + 1, 300, 900):
                with pytest.raises(DocumentTooDeep, match="at most 100 levels"):
                    service.set_columns(uuid, **{column: nested(levels)})
                with pytest.raises(DocumentTooDeep):
                    service.set_columns(uuid, **{column: json.loads("[" * levels + "]" * levels)})
            service.baremetal("GET", "/nodes/detail")
            assert service.database.read(lambda session: len(session.query(Node).all())) == 1


def test_a_driver_that_writes_what_could_not_be_shown_has_failed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeRescue, "rescue", lambda *arguments: Effect(internal={"deep": nested(300)}))
    uuid = enrol(service)
    put_into(service, uuid, "active")
    node = do(service, "rescue", rescue_password="x")
    assert (node["provision_state"], node["reservation"]) == ("rescue failed", None)
    assert "nested too deeply: at most 100 levels are accepted" in node["last_error"]


def test_a_vendor_who_says_what_could_not_be_shown(
    service: Service, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    path = f"/nodes/{enrol(service)}/vendor_passthru/third_method_sync"
    for levels in [101, 300, 900]:
        with subtests.test(levels=levels):
            monkeypatch.setattr(FakeVendor, "call", lambda *arguments, levels=levels: nested(levels))
            assert "nested too deeply" in fault(service.baremetal("POST", path, {"bar": "meow"}, status=400))


def test_a_list_has_so_many_steps(service: Service) -> None:
    uuid = enrol(service)
    put_into(service, uuid, "manageable")
    steps = [{"interface": "deploy", "step": f"s{number}", "args": {"password": "k33p"}} for number in range(1001)]
    body = {"target": "clean", "clean_steps": steps}
    refused = service.baremetal("PUT", f"/nodes/{uuid}/states/provision", body, status=400)
    assert fault(refused) == "Invalid clean_steps: 1001 steps are too many: 1000 are allowed"
    template = {"name": "CUSTOM_A", "steps": [{**step, "priority": 1} for step in steps]}
    assert "1001 steps are too many" in fault(service.baremetal("POST", "/deploy_templates", template, status=400))
    del steps[0]["step"]
    body["clean_steps"] = steps[:2]
    refused = service.baremetal("PUT", f"/nodes/{uuid}/states/provision", body, status=400)
    assert fault(refused) == "Invalid clean_steps at /0: 'step' is a required property"
