# tier: first
"""Enrol, ask, claim: the shortest way through the whole house."""

import uuid

from tests.service import Service


def test_a_node_is_offered_and_claimed_once(service: Service) -> None:
    node = service.add_node("n1", traits=("CUSTOM_A", "HW_CPU_X86_VMX"))
    assert service.candidates("resources=CUSTOM_GOLD:1&required=CUSTOM_A") == {node}
    assert service.candidates("resources=CUSTOM_GOLD:1&required=!CUSTOM_A") == set()
    consumer = str(uuid.uuid4())
    service.claim(consumer, node, status=204)
    assert service.candidates("resources=CUSTOM_GOLD:1") == set()
    service.claim(str(uuid.uuid4()), node, status=409)
    service.placement("DELETE", f"/allocations/{consumer}", status=204)
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
