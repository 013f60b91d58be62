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
DOCUMENT = load("resource_request")
VECTORS = [vector for vector in DOCUMENT["vectors"] if vector["id"] not in LEFT_OUT]

#: The microversion with which Nova asks.
NOVAS_VERSION = 36

#: Random flavors and images with Nova's queries, as ``record_requests.py`` writes them.
RECORDED = load("recorded_requests")["rows"]


def flavor_of(vector: dict[str, Any]) -> FlavorSpec:
    """The vector's flavor."""
    names = ("vcpus", "memory_mb", "root_gb", "ephemeral_gb", "swap", "extra_specs")
    return FlavorSpec(*(vector["flavor"][name] for name in names))


def built(vector: dict[str, Any]) -> ResourceRequest:
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
        limit=None if unlimited else DOCUMENT["default_limit"],
        root_required=request.get("root_required", []),
        root_forbidden=request.get("root_forbidden", []),
        same_subtrees=request.get("same_subtree", []),
    )


def test_how_many_are_run() -> None:
    known = {vector["id"] for vector in DOCUMENT["vectors"]}
    assert (len(VECTORS), len(known)) == (63, 68)
    assert known >= LEFT_OUT.keys()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_nova_sends_the_same_query(vector: dict[str, Any]) -> None:
    request = built(vector)
    assert request.query() == vector["expected"]["querystring"]
    assert [[name, value] for name, value in request.pairs()] == vector["expected"]["params"]
    assert request.merged_resources() == vector["expected"]["merged_resources"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_placement_takes_what_the_original_takes(vector: dict[str, Any]) -> None:
    status = vector["expected"]["upstream_placement_1_36"]["status"]
    pairs = built(vector).pairs()
    if status == 200:
        assert query.parse(pairs, NOVAS_VERSION).groups
    else:
        with pytest.raises(BadQuery):
            query.parse(pairs, NOVAS_VERSION)


@pytest.mark.parametrize("row", RECORDED, ids=range(len(RECORDED)))
def test_recorded_queries(row: dict[str, Any]) -> None:
    request = build(flavor_of(row), row["image_properties"], boot_from_volume=row["boot_from_volume"], limit=1000)
    assert request.query() == row["query"]
