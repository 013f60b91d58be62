"""UUIDs in paths and queries, in the spelling that a client has."""

from collections.abc import Callable

import pytest

from tests.service import Service

AGGREGATE = "0aef0000-0000-4000-8000-00000000000a"
CONSUMER = "0cef0000-0000-4000-8000-00000000000c"


@pytest.mark.parametrize("spell", [str.upper, lambda uuid: uuid.replace("-", "")])
def test_paths_find_uuids_in_any_spelling(service: Service, spell: Callable[[str], str]) -> None:
    """As the originals' databases do on MariaDB, at least for capitals."""
    node = service.add_node("n1")
    service.claim(CONSUMER, node)
    found = service.placement("GET", f"/resource_providers/{spell(node)}/allocations").json
    assert [*found["allocations"]] == [CONSUMER]
    assert node in service.placement("GET", f"/allocations/{spell(CONSUMER)}").json["allocations"]
    service.placement("DELETE", f"/allocations/{spell(CONSUMER)}", status=204)
    assert service.placement("GET", f"/allocations/{CONSUMER}").json["allocations"] == {}


def test_an_aggregate_in_its_usual_form_is_found_in_capitals(service: Service) -> None:
    """One that a client has written in capitals keeps them, and is found by these."""
    nodes = [service.add_node("n1"), service.add_node("n2")]
    for node, aggregate in zip(nodes, (AGGREGATE, AGGREGATE.upper()), strict=True):
        generation = service.placement("GET", f"/resource_providers/{node}").json["generation"]
        body = {"aggregates": [aggregate], "resource_provider_generation": generation}
        service.placement("PUT", f"/resource_providers/{node}/aggregates", body)
    assert service.candidates(f"resources=CUSTOM_GOLD:1&member_of={AGGREGATE.upper()}") == {*nodes}
    assert service.candidates(f"resources=CUSTOM_GOLD:1&member_of={AGGREGATE}") == {nodes[0]}
    assert service.candidates(f"resources=CUSTOM_GOLD:1&member_of=!{AGGREGATE.upper()}") == set()
