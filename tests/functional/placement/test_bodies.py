"""Bodies, names and queries that are nearly right: encodings, numbers that are none, a newline at the end of a name."""

import json
from typing import Any

import pytest
from werkzeug.test import Client

from tests.service import Service
from tests.worlds import build, spec, uuid_of

CONSUMER = "cccccccc-0000-4000-8000-000000000001"
LINE = "%0A"
PROVIDERS = "/resource_providers"


@pytest.fixture
def provider(service: Service) -> str:
    """The UUID of one that has 4 VCPU."""
    service.database.write(lambda session: build(session, [spec("a", VCPU=4)]))
    return uuid_of("a")


def send(service: Service, method: str, path: str, body: bytes, version: str = "1.39") -> Any:
    headers = {"OpenStack-API-Version": f"placement {version}", "Content-Type": "application/json"}
    return Client(service.app).open(f"/placement{path}", method=method, data=body, headers=headers)


def detail(response: Any) -> str:
    return str(response.json["errors"][0]["detail"])


def claim(provider: str, **more: Any) -> dict[str, Any]:
    body = {"allocations": {provider: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u"}
    return body | {"consumer_generation": None, "consumer_type": "INSTANCE"} | more


def test_json_is_utf_8(service: Service, subtests: pytest.Subtests) -> None:
    """And has no byte order mark."""
    for body in ['{"name": "a"}'.encode(encoding) for encoding in ("utf-16", "utf-16-le", "utf-32", "utf-8-sig")]:
        with subtests.test(body=body):
            response = send(service, "POST", PROVIDERS, body)
            assert response.status_code == 400
            assert "Malformed JSON: " in detail(response)
            response = send(service, "POST", PROVIDERS, '{"name": "ä"}'.encode("latin-1"))
            assert "Malformed JSON: 'utf-8' codec can't decode byte 0xe4" in detail(response)
            assert service.placement("GET", PROVIDERS).json == {"resource_providers": []}


def test_numbers_are_finite(service: Service, provider: str, subtests: pytest.Subtests) -> None:
    """Also where nothing else looks at a ratio: in a reshape."""
    for number in ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"]:
        with subtests.test(number=number):
            stocks = f'{{"VCPU": {{"total": 4, "reserved": 4, "allocation_ratio": {number}}}}}'
            inventory = f'{{"resource_provider_generation": 0, "inventories": {stocks}}}'
            reshape = f'{{"inventories": {{"{provider}": {inventory}}}, "allocations": {{}}}}'
            for method, path, body in (
                ("PUT", f"{PROVIDERS}/{provider}/inventories", inventory),
                ("POST", "/reshaper", reshape),
            ):
                response = send(service, method, path, body.encode())
                assert response.status_code == 400
                assert "Malformed JSON: " in detail(response)
            assert service.inventory(provider)["VCPU"]["allocation_ratio"] == 1.0


def test_of_what_is_missing_and_what_is_too_much_one_is_said(service: Service, subtests: pytest.Subtests) -> None:
    """The error names a missing member, where allocations are a list; since they are an object, a surplus one."""
    for version, named in [("1.0", "'allocations' is a required property"), ("1.12", "('extra' was unexpected)")]:
        with subtests.test(version=version):
            assert named in detail(send(service, "PUT", f"/allocations/{CONSUMER}", b'{"extra": 1}', version))
            if version == "1.12":
                body = json.dumps({CONSUMER: {"extra": 1}}).encode()
                assert named in detail(send(service, "POST", "/allocations", body, "1.13"))
                shapes = {CONSUMER: {"resource_provider_generation": 0, "inventories": {}}}
                body = json.dumps({"inventories": shapes, "allocations": {CONSUMER: {"extra": 1}}}).encode()
                assert named in detail(send(service, "POST", "/reshaper", body))


def test_a_newline_at_the_end_is_part_of_a_name(service: Service, provider: str) -> None:
    """And not allowed there, however patterns are read: no name would be what it seems."""
    service.placement("PUT", f"/resource_classes/CUSTOM_A{LINE}", status=400)
    service.placement("PUT", f"/traits/CUSTOM_A{LINE}", status=400)
    response = service.placement("POST", "/resource_classes", {"name": "CUSTOM_A\n"}, status=400)
    assert r"'CUSTOM_A\n' does not match '^CUSTOM_[A-Z0-9_]+$'" in detail(response)
    service.placement("PUT", f"/allocations/{CONSUMER}", claim(provider, consumer_type="INSTANCE\n"), status=400)
    service.placement("PUT", f"/allocations/{CONSUMER}{LINE}", claim(provider), status=400)
    response = service.placement("POST", "/allocations", {f"{CONSUMER}\n": claim(provider)}, status=400)
    assert "does not match any of the regexes: '^[0-9a-fA-F-]{36}$'" in detail(response)
    service.placement("GET", f"/usages?project_id=p&consumer_type=INSTANCE{LINE}", status=400)
    service.placement("GET", f"/allocation_candidates?resources=VCPU:1&limit=1{LINE}", status=400)
    service.placement("GET", f"/allocation_candidates?resources{LINE}=VCPU:1", status=400)
    assert service.placement("GET", f"{PROVIDERS}/{provider}/allocations").json["allocations"] == {}
    names = [row["name"] for row in service.placement("GET", "/resource_classes").json["resource_classes"]]
    assert not any(name.startswith("CUSTOM_") for name in names)


def test_the_uuid_of_an_aggregate_has_many_forms_but_an_end(service: Service, provider: str) -> None:
    """Prefixes and dashes may be repeated; a text that is longer than the database keeps is no UUID."""
    path = f"{PROVIDERS}/{provider}/aggregates"
    forms = [f"urn:uuid:{{{CONSUMER}}}", CONSUMER.upper(), CONSUMER.replace("-", "")]
    assert service.placement("PUT", path, forms, version="1.18").json == {"aggregates": forms}
    for long in ("urn:" * 10 + CONSUMER, "-" * 40 + CONSUMER):
        response = service.placement("PUT", path, [long], version="1.18", status=400)
        assert f"'{long}' is not a 'uuid'" in detail(response)
    assert sorted(service.placement("GET", path).json["aggregates"]) == sorted(forms)
    made = service.placement("POST", PROVIDERS, {"name": "b", "uuid": forms[0]}).json
    assert made["uuid"] == CONSUMER


def test_the_form_of_aggregates_comes_before_what_is_too_new(service: Service, subtests: pytest.Subtests) -> None:
    for value, message in [
        (f"!{CONSUMER}", "Forbidden member_of parameters are not supported in the specified microversion"),
        (
            f"!{CONSUMER},{CONSUMER}",
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword",
        ),
        ("!!x", "Expected 'member_of' parameter to contain valid UUID(s). Got: !x  "),
        ("!", "Expected 'member_of' parameter to contain valid UUID(s). Got:   "),
        (f"in:{CONSUMER},x", "Expected 'member_of' parameter to contain valid UUID(s). Got: x  "),
    ]:
        with subtests.test(value=value):
            response = service.placement("GET", f"{PROVIDERS}?member_of={value}", version="1.31", status=400)
            assert message in detail(response)
            path = f"/allocation_candidates?resources=VCPU:1&member_of={value}"
            assert message in detail(service.placement("GET", path, version="1.31", status=400))


def test_blanks_around_a_tree_and_any_number_of_digits_of_a_limit(service: Service, provider: str) -> None:
    query = f"resources=VCPU:1&in_tree=%20{provider}%20&limit={'9' * 200}"
    assert service.candidates(query) == {provider}
    assert service.candidates(query, version="1.31") == {provider}
    service.placement("GET", f"{PROVIDERS}?in_tree=%20{provider}", status=400)
