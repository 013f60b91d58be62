"""The ring gives the owners that Ironic and tooz give."""

import hashlib
import json
import uuid
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tooz.hashring import HashRing as ToozRing

from baremetal_sched import hashring
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.hashring import HashRing, ring_of

DATA = Path(__file__).parents[1] / "data"
RECORDED = json.loads((DATA / "ring_vectors.json").read_text())
TOOZ = [vector for vector in json.loads((DATA / "ring_vectors_tooz.json").read_text()) if vector["hash"] == "md5"]

HOSTS = st.sets(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), min_size=1, max_size=12)


def test_owners_are_those_that_a_running_ironic_gave(subtests: pytest.Subtests) -> None:
    for snapshot in RECORDED["sets"]:
        with subtests.test(snapshot["label"]):
            ring = HashRing(snapshot["hosts"], 5)
            assert {node: ring.owner(node) for node in snapshot["map"]} == snapshot["map"]


def test_owners_are_those_of_recorded_tooz_rings(subtests: pytest.Subtests) -> None:
    for vector in TOOZ:
        with subtests.test(f"{len(vector['hosts'])}x{vector['partitions']}"):
            ring = HashRing(vector["hosts"], vector["partitions"].bit_length() - 1)
            assert {node: ring.owner(node) for node in vector["map"]} == vector["map"]


def test_owners_are_those_of_tooz(subtests: pytest.Subtests) -> None:
    for count, exponent in product([1, 2, 3, 10, 30], [0, 5, 7]):
        with subtests.test(count=count, exponent=exponent):
            hosts = [f"conductor-{number}.example.org" for number in range(count)]
            ring, reference = HashRing(hosts, exponent), ToozRing(hosts, partitions=2**exponent)
            for number in range(500):
                node = str(uuid.uuid5(uuid.NAMESPACE_DNS, f"node-{number}"))
                assert {ring.owner(node)} == reference.get_nodes(node.encode())


@given(HOSTS, st.text(st.characters(codec="utf-8"), max_size=40))
def test_the_owner_is_a_member_whatever_the_order(hosts: set[str], key: str) -> None:
    owner = HashRing(sorted(hosts)).owner(key)
    assert owner in hosts
    assert HashRing(sorted(hosts, reverse=True)).owner(key) == owner


def test_a_new_member_takes_its_share_and_nothing_else_moves() -> None:
    keys = [str(uuid.uuid5(uuid.NAMESPACE_DNS, str(number))) for number in range(5000)]
    nine = HashRing(f"c{number}" for number in range(9))
    ten = HashRing(f"c{number}" for number in range(10))
    moved = [key for key in keys if nine.owner(key) != ten.owner(key)]
    assert all(ten.owner(key) == "c9" for key in moved)
    assert 0.05 < len(moved) / len(keys) < 0.2


def test_a_ring_is_built_once_for_a_membership() -> None:
    assert ring_of(frozenset({"a", "b"}), 5) is ring_of(frozenset({"b", "a"}), 5)


def test_an_owner_costs_one_hash_and_the_ring_is_no_longer_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many nodes there are: that is what 100,000 owners in half a second rest on."""
    hashes: list[bytes] = []

    def md5(data: bytes, **options: bool) -> "hashlib._Hash":
        hashes.append(data)
        return original(data, **options)

    original = hashlib.md5
    monkeypatch.setattr(hashring.hashlib, "md5", md5)
    membership = Membership({("rack1", "fake-hardware"): frozenset(f"scale-{number}" for number in range(7))}, 5)
    keys = [f"node-{number}" for number in range(1000)]
    owners = {membership.owner(key, "rack1", "fake-hardware") for key in keys}
    assert len(owners) == 7
    assert len(hashes) == 7 + len(keys)


def test_a_ring_without_members_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one member"):
        HashRing([])


@given(HOSTS, st.text(st.characters(codec="utf-8"), max_size=40), st.integers(0, 3))
def test_arcs_are_the_whole_ring_and_have_its_owners(hosts: set[str], key: str, exponent: int) -> None:
    ring = HashRing(hosts, exponent)
    arcs = ring.arcs()
    assert [arc.start for arc in arcs] == [0.0, *(arc.end for arc in arcs[:-1])]
    assert arcs[-1].end == 1.0
    assert all(one.member != other.member for one, other in pairwise(arcs))
    place = int.from_bytes(hashlib.md5(key.encode()).digest(), "big") / 2**128
    assert [arc.member for arc in arcs if arc.start <= place < arc.end] == [ring.owner(key)]
    assert ring.shares().keys() == hosts
    assert sum(ring.shares().values()) == pytest.approx(1)
