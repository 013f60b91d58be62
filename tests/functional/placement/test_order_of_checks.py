"""A request that is wrong in two ways is refused for the one that is looked at first."""

from typing import Any

import pytest

from tests.service import Service
from tests.unchanged import unchanged
from tests.worlds import build, spec, uuid_of

KNOWN, UNKNOWN = (f"/resource_providers/{uuid_of(name)}" for name in ("a", "nobody"))
HELD, FRESH = uuid_of("held"), uuid_of("fresh")
BAD: dict[str, Any] = {"bad": 1}
USER = {"X-Roles": "reader"}
TEXT = {"Content-Type": "text/plain"}
IMAGE = {"Accept": "image/png"}
CLAIM = {"project_id": "p", "user_id": "u", "consumer_type": "T"}


def claim(provider: str, resource_class: str, amount: int, generation: int | None) -> dict[str, Any]:
    allocations = {uuid_of(provider): {"resources": {resource_class: amount}}}
    return {"allocations": allocations, "consumer_generation": generation, **CLAIM}


def shape(provider: str, generation: int, **inventories: Any) -> dict[str, Any]:
    return {uuid_of(provider): {"resource_provider_generation": generation, "inventories": inventories}}


#: The request (method, path, body, version, headers), its status, and the message.
REQUESTS: list[tuple[str, str, Any, str, dict[str, str], int, str]] = [
    # Microversion, content type or Accept, policy.
    ("POST", "/resource_classes", BAD, "1.1", TEXT | USER, 404, ""),
    ("POST", "/resource_classes", BAD, "1.2", TEXT | USER, 415, "text/plain"),
    ("POST", "/resource_classes", BAD, "1.2", USER, 403, "placement:resource_classes:create"),
    ("GET", "/resource_classes", None, "1.1", IMAGE | USER, 404, ""),
    ("GET", "/resource_classes", None, "1.2", IMAGE | USER, 406, ""),
    ("GET", "/allocation_candidates", None, "1.10", IMAGE | USER, 406, ""),
    ("GET", "/allocation_candidates", None, "1.10", USER, 403, "placement:allocation_candidates:list"),
    ("POST", "/reshaper", BAD, "1.29", TEXT | USER, 404, ""),
    ("POST", "/reshaper", BAD, "1.30", USER, 403, "placement:reshaper:reshape"),
    ("DELETE", f"{UNKNOWN}/inventories", None, "1.4", USER, 405, ""),
    ("DELETE", f"{UNKNOWN}/inventories", None, "1.5", USER, 403, "placement:resource_providers:inventories:delete"),
    ("GET", "/usages", None, "1.9", USER, 403, "placement:usages"),
    ("GET", "/usages", None, "1.9", {}, 400, "'project_id' is a required property"),
    ("PUT", "/allocations/x", BAD, "1.39", USER, 403, "placement:allocations:update"),
    # The provider of the path, then the body; except traits.
    ("PUT", UNKNOWN, BAD, "1.39", {}, 404, "No resource provider"),
    ("POST", f"{UNKNOWN}/inventories", BAD, "1.39", {}, 404, "No resource provider"),
    ("PUT", f"{UNKNOWN}/inventories", BAD, "1.39", {}, 404, "No resource provider"),
    ("PUT", f"{UNKNOWN}/inventories/VCPU", BAD, "1.39", {}, 404, "No resource provider"),
    ("PUT", f"{UNKNOWN}/inventories/CUSTOM_NO", BAD, "1.39", {}, 404, "No resource provider"),
    ("PUT", f"{UNKNOWN}/aggregates", BAD, "1.39", {}, 404, "No resource provider"),
    ("PUT", f"{UNKNOWN}/traits", BAD, "1.39", {}, 400, "JSON does not validate"),
    ("GET", f"{UNKNOWN}/inventories/CUSTOM_NO", None, "1.39", {}, 404, "No resource provider"),
    # The body, then the generation, then what it says.
    ("PUT", f"{KNOWN}/inventories/VCPU", {"resource_provider_generation": 99, "total": 0}, "1.39", {}, 400, "minimum"),
    (
        *("PUT", f"{KNOWN}/inventories/VCPU"),
        *({"resource_provider_generation": 99, "total": 1, "reserved": 2}, "1.39", {}, 409, "generation conflict"),
    ),
    (
        *("PUT", f"{KNOWN}/inventories/CUSTOM_NO"),
        *({"resource_provider_generation": 99, "total": 1}, "1.39", {}, 409, "generation conflict"),
    ),
    (
        *("PUT", f"{KNOWN}/inventories"),
        *(
            {"resource_provider_generation": 99, "inventories": {"CUSTOM_NO": {"total": 1}}},
            "1.39",
            {},
            409,
            "conflict",
        ),
    ),
    (
        *("PUT", f"{KNOWN}/traits"),
        *({"resource_provider_generation": 99, "traits": ["CUSTOM_NO"]}, "1.39", {}, 409, "generation already changed"),
    ),
    # Claims: the consumer, its generation, the provider, the class, the capacity.
    ("PUT", "/allocations/x", BAD, "1.39", {}, 400, "Malformed consumer_uuid"),
    ("PUT", f"/allocations/{HELD}", claim("nobody", "CUSTOM_NO", 99, 7), "1.39", {}, 409, "expected 1 but got 7"),
    ("PUT", f"/allocations/{HELD}", claim("nobody", "CUSTOM_NO", 99, 1), "1.39", {}, 400, "that does not exist"),
    (
        "PUT",
        f"/allocations/{HELD}",
        claim("a", "CUSTOM_NO", 99, 1),
        "1.39",
        {},
        400,
        "No such resource class CUSTOM_NO",
    ),
    ("PUT", f"/allocations/{HELD}", claim("a", "VCPU", 99, 1), "1.39", {}, 409, "exceed the capacity"),
    (
        *("POST", "/allocations"),
        *({FRESH: claim("nobody", "VCPU", 1, None), HELD: claim("a", "VCPU", 1, 7)}, "1.39", {}, 409, "but got 7"),
    ),
    # Reshapes: each provider and its generation, consumers' generations, then the rest.
    (
        *("POST", "/reshaper"),
        {"inventories": shape("a", 99) | shape("nobody", 0), "allocations": {HELD: claim("a", "VCPU", 1, 7)}},
        *("1.39", {}, 409, "actual: 1, given: 99"),
    ),
    (
        *("POST", "/reshaper"),
        {"inventories": shape("nobody", 0) | shape("a", 99), "allocations": {HELD: claim("a", "VCPU", 1, 7)}},
        *("1.39", {}, 400, "No resource provider"),
    ),
    (
        *("POST", "/reshaper"),
        {"inventories": shape("a", 1, CUSTOM_NO={"total": 1}), "allocations": {HELD: claim("a", "VCPU", 1, 7)}},
        *("1.39", {}, 409, "expected 1 but got 7"),
    ),
    (
        *("POST", "/reshaper"),
        {"inventories": shape("a", 1, CUSTOM_NO={"total": 1}), "allocations": {HELD: claim("nobody", "VCPU", 1, 1)}},
        *("1.39", {}, 400, "that does not exist"),
    ),
]


def test_what_is_looked_at_first(database_url: str, subtests: pytest.Subtests) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.database.write(lambda session: build(session, [spec("a", VCPU=4)]))
        admin = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}
        service.placement("PUT", f"/allocations/{HELD}", claim("a", "VCPU", 1, None), headers=admin, status=204)
        with unchanged(service):
            for method, path, body, version, headers, status, said in REQUESTS:
                with subtests.test(method=method, path=path, said=said):
                    answer = service.placement(
                        method, path, body, version=version, headers=admin | headers, status=status
                    )
                    assert said in answer.text
