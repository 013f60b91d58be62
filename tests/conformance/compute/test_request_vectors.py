# tier: first
"""The request of a flavor and an image, against Nova's own: 63 of 68 vectors."""

from typing import Any

import pytest

from baremetal_sched.compute.flavors.resource_request import FlavorSpec, ResourceRequest, build
from baremetal_sched.errors.placement import BadQuery
from baremetal_sched.placement.candidates.request import query
from tests.conformance.compute.vectors import load

#: The vectors that are not run, and why.
LEFT_OUT = {
    "external-group-suffix-clash": "needs a group of a port, and there are none here",
    "external-group-empty": "needs a group of a port, and there are none here",
    "sched-two-ports-default-policy": "needs groups of ports, and there are none here",
    "filters-defaults": "what Nova's request filters add follows from its compute services, of which there are none",
    "filters-image-metadata": "what Nova's request filters add follows from its compute services, of which there are "
    "none",
}
#: The microversion that Nova requests.
NOVAS_VERSION = 36


def flavor_of(vector: dict[str, Any]) -> FlavorSpec:
    """The vector's flavor."""
    names = ("vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap", "extra_specs")
    return FlavorSpec(*(vector["flavor"][name] for name in names))


def built(vector: dict[str, Any], default_limit: int) -> ResourceRequest:
    """Our request. Which node is forced, and whether that drops the limit, is found out by Nova before it builds."""
    request = vector["request"]
    nodes, destination = request.get("compute_nodes", []), request.get("destination", {})
    unlimited = len(nodes) > 1 or "group" in request.get("hints", {})
    return build(
        flavor_of(vector),
        vector["image_properties"],
        boot_from_volume=request.get("is_bfv", False),
        in_tree=nodes[0] if len(nodes) == 1 else None,
        aggregates=[members.split(",") for members in destination.get("aggregates", [])],
        forbidden_aggregates=destination.get("forbidden_aggregates", []),
        limit=None if unlimited else default_limit,
        root_required=request.get("root_required", []),
        root_forbidden=request.get("root_forbidden", []),
        same_subtrees=request.get("same_subtree", []),
    )


def test_nova_sends_the_same_query_and_placement_takes_it(subtests: pytest.Subtests) -> None:
    """Placement refuses what the original refuses."""
    document = load("resource_request")
    vectors = {vector["id"]: vector for vector in document["vectors"]}
    assert (len(vectors.keys() - LEFT_OUT.keys()), len(vectors)) == (63, 68)
    for name in vectors.keys() - LEFT_OUT.keys():
        with subtests.test(name):
            request, expected = built(vectors[name], document["default_limit"]), vectors[name]["expected"]
            assert request.query() == expected["querystring"]
            assert [[key, value] for key, value in request.pairs()] == expected["params"]
            assert request.merged_resources() == expected["merged_resources"]
            if expected["upstream_placement_1_36"]["status"] == 200:
                assert query.parse(request.pairs(), NOVAS_VERSION).groups
            else:
                with pytest.raises(BadQuery):
                    query.parse(request.pairs(), NOVAS_VERSION)


def test_recorded_queries() -> None:
    """Random flavors and images with Nova's queries, as ``record_requests.py`` writes them."""
    rows = load("recorded_requests")["rows"]
    assert len(rows) == 300
    assert [(row, found) for row in rows if (found := _query_of(row)) != row["query"]] == []


def _query_of(row: dict[str, Any]) -> str:
    flavor, is_volume = flavor_of(row), row["boot_from_volume"]
    return build(flavor, row["image_properties"], boot_from_volume=is_volume, limit=1000).query()
