"""The dry run of every flavor and image in Nova's vectors: Nova's query, or a refusal."""

from typing import Any

from tests.conformance.compute.vectors import load
from tests.service import Service

#: Requests by extra specs that the API refuses, or by a flavor that asks for nothing.
REFUSED = {
    "amount-float",
    "amount-hex",
    "amount-negative",
    "amount-negative-override-keeps-base",
    "amount-spaces",
    "base-zero-everything",
    "class-lowercase",
    "group-trait-only",
    "group-zeroed-with-trait-kept",
    "hw-dedicated",
    "hw-pci-numa-socket",
    "hw-thread-policy-isolate",
    "hw-tpm",
    "image-requires-flavor-group-forbids",
    "image-resources-not-supported",
    "image-trait-prefix-only",
    "image-traits-required-property-not-read",
    "key-other-namespaces",
    "key-resource-singular",
    "key-suffix-bad-char",
    "key-uppercase",
    "trait-name-empty",
    "trait-value-empty",
    "trait-value-padded",
    "trait-value-preferred",
}
#: Vectors whose request is more than a flavor and an image cannot be asked for.
VECTORS = [vector for vector in load("resource_request")["vectors"] if vector["request"].keys() <= {"is_bfv"}]


def asked(vector: dict[str, Any]) -> dict[str, Any]:
    """The body of the request."""
    flavor = vector["flavor"]
    return {
        "flavor": {
            "vcpus": flavor["vcpus"],
            "ram": flavor["memory_mb"],
            "disk": flavor["root_gb"],
            "ephemeral": flavor["ephemeral_gb"],
            "swap": flavor["swap"],
            "extra_specs": flavor["extra_specs"],
        },
        "image": {"properties": vector["image_properties"]},
        "boot_from_volume": vector["request"].get("is_bfv", False),
        "limit": 1000,
    }


def test_nova_sends_the_same_query_or_it_is_refused(service: Service) -> None:
    assert len(VECTORS) == 56
    refused = set()
    for vector in VECTORS:
        answer = service.http.post_json("/scheduling/v1/requests", asked(vector), expect_errors=True)
        if answer.status_int == 400:
            refused.add(vector["id"])
            continue
        assert answer.json["placement_query"] == vector["expected"]["querystring"], vector["id"]
    assert refused == REFUSED
