# tier: first
"""GET /allocation_candidates over trees, sharing providers and request groups."""

import gc
import weakref
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Connection

from baremetal_sched.placement.candidates import answer, fast_path, search
from baremetal_sched.placement.candidates.sql import provider_rows
from baremetal_sched.placement.candidates.trees.providers import ProviderRow
from tests import worlds
from tests.restored import restored
from tests.service import Service
from tests.worlds import SHARES, Spec, Stock, spec, uuid_of

#: Two hosts with two cells each and a network card below each cell, and a disk array that both use.
HOSTS = [
    part
    for host in ("h1", "h2")
    for part in (
        spec(host, traits="CUSTOM_ROOT" if host == "h1" else "", aggregates="rack"),
        spec(f"{host}-a", host, traits="CUSTOM_FAST", VCPU=4, MEMORY_MB=8),
        spec(f"{host}-b", host, VCPU=Stock(4, used=2), MEMORY_MB=8),
        spec(f"{host}-a-nic", f"{host}-a", traits="CUSTOM_PORT", SRIOV_NET_VF=2),
        spec(f"{host}-b-nic", f"{host}-b", traits="CUSTOM_PORT", SRIOV_NET_VF=2),
    )
]
ARRAY = spec("array", traits=SHARES, aggregates="rack", DISK_GB=100)


def seed(service: Service, specs: list[Spec]) -> None:
    service.database.write(lambda session: worlds.build(session, specs))


def offered(service: Service, query: str, version: str = "1.39") -> list[str]:
    """Candidates as ``provider CLASS:n, …`` lines, sorted; providers by name."""
    document = service.placement("GET", f"/allocation_candidates?{query}", version=version).json
    names = provider_names(service)
    return sorted(
        ", ".join(
            sorted(
                f"{names[uuid]} {' '.join(f'{name}:{amount}' for name, amount in sorted(part['resources'].items()))}"
                for uuid, part in request["allocations"].items()
            )
        )
        for request in document["allocation_requests"]
    )


def provider_names(service: Service) -> dict[str, str]:
    providers = service.placement("GET", "/resource_providers").json["resource_providers"]
    return {provider["uuid"]: provider["name"] for provider in providers}


def count(service: Service, query: str, version: str = "1.39") -> int:
    document = service.placement("GET", f"/allocation_candidates?{query}", version=version).json
    return len(document["allocation_requests"])


@pytest.fixture
def hosts(service: Service) -> Service:
    seed(service, [*HOSTS, ARRAY])
    return service


def test_classes_come_from_different_providers_of_a_tree(hosts: Service) -> None:
    assert offered(hosts, f"resources=VCPU:3,SRIOV_NET_VF:1&in_tree={uuid_of('h1')}") == [
        "h1-a VCPU:3, h1-a-nic SRIOV_NET_VF:1",
        "h1-a VCPU:3, h1-b-nic SRIOV_NET_VF:1",
    ]


def test_a_group_with_a_suffix_is_served_by_one_provider(hosts: Service) -> None:
    assert offered(hosts, "resources1=VCPU:3,MEMORY_MB:8") == [f"{host}-a MEMORY_MB:8 VCPU:3" for host in ("h1", "h2")]
    assert offered(hosts, "resources1=VCPU:3,SRIOV_NET_VF:1") == []


def test_who_shares_serves_the_trees_of_its_aggregates(hosts: Service) -> None:
    assert offered(hosts, "resources=VCPU:3,DISK_GB:5") == [
        f"array DISK_GB:5, {host}-a VCPU:3" for host in ("h1", "h2")
    ]
    assert offered(hosts, "resources=DISK_GB:5") == ["array DISK_GB:5"]
    assert offered(hosts, f"resources=VCPU:3,DISK_GB:5&in_tree={uuid_of('h1')}") == []
    pinned = f"resources=VCPU:3&resources1=DISK_GB:5&in_tree1={uuid_of('array')}"
    assert offered(hosts, pinned) == [f"array DISK_GB:5, {host}-a VCPU:3" for host in ("h1", "h2")]


def test_traits_of_those_that_give_nothing_do_not_count(hosts: Service) -> None:
    assert offered(hosts, "resources=VCPU:3&required=CUSTOM_ROOT") == []
    assert offered(hosts, "resources=VCPU:3&required=CUSTOM_PORT") == []
    assert offered(hosts, "resources=VCPU:3,SRIOV_NET_VF:1&required=CUSTOM_ROOT") == []
    assert count(hosts, "resources=VCPU:3,SRIOV_NET_VF:1&required=CUSTOM_FAST,CUSTOM_PORT") == 4
    assert offered(hosts, "resources=VCPU:3,SRIOV_NET_VF:1&required=!CUSTOM_FAST") == []
    assert count(hosts, "resources=VCPU:3,SRIOV_NET_VF:1&required=!CUSTOM_ROOT") == 4


def test_isolate_leaves_the_group_without_suffix_alone(hosts: Service) -> None:
    two = "resources1=VCPU:1&resources2=VCPU:1"
    assert count(hosts, f"{two}&group_policy=none") == 8
    assert count(hosts, f"{two}&group_policy=isolate") == 4
    found = offered(hosts, "resources=VCPU:1&resources1=VCPU:2&group_policy=isolate")
    assert found.count("h1-a VCPU:3") == 1
    assert len(found) == 6  # not both on the cell that has two left


def test_what_is_used_counts_when_groups_add_up(hosts: Service) -> None:
    two = f"resources1=VCPU:2&resources2=VCPU:1&group_policy=none&in_tree1={uuid_of('h1')}"
    assert offered(hosts, two) == ["h1-a VCPU:1, h1-b VCPU:2", "h1-a VCPU:2, h1-b VCPU:1", "h1-a VCPU:3"]


def test_max_unit_holds_for_the_sum(service: Service) -> None:
    seed(service, [spec("p", VCPU=Stock(8, max_unit=2, min_unit=2, step_size=2))])
    assert count(service, "resources1=VCPU:2") == 1
    assert count(service, "resources1=VCPU:2&resources2=VCPU:2&group_policy=none") == 0


def test_amounts_of_the_same_class_are_not_mixed_up(service: Service) -> None:
    """The original adds up amounts in objects that candidates share, and offers 2 and 1."""
    seed(service, [spec("root"), spec("a", "root", VCPU=4), spec("b", "root", VCPU=4)])
    assert offered(service, "resources=VCPU:1&resources1=VCPU:1") == [
        "a VCPU:1, b VCPU:1",
        "a VCPU:1, b VCPU:1",
        "a VCPU:2",
        "b VCPU:2",
    ]


def test_no_candidate_of_another_anchor_is_lost(hosts: Service) -> None:
    """The original keeps one anchor for what only a sharing provider gives."""
    assert count(hosts, "resources=DISK_GB:5&resources1=VCPU:1") == 4


def test_what_sharing_providers_give_alone_is_offered_once(hosts: Service) -> None:
    seed(hosts, [spec("net", traits=SHARES, IPV4_ADDRESS=9)])
    hosts.placement("PUT", f"/resource_providers/{uuid_of('net')}/aggregates", in_rack(), status=200)
    both = "resources1=DISK_GB:5&resources2=IPV4_ADDRESS:1&group_policy=none"
    assert offered(hosts, both) == ["array DISK_GB:5, net IPV4_ADDRESS:1"]
    assert offered(hosts, "resources=DISK_GB:5,IPV4_ADDRESS:1") == ["array DISK_GB:5, net IPV4_ADDRESS:1"]


def in_rack() -> dict[str, Any]:
    return {"aggregates": [uuid_of("rack")], "resource_provider_generation": 0}


def test_equal_groups_may_swap(service: Service) -> None:
    seed(service, [spec("root"), spec("a", "root", VCPU=1), spec("b", "root", VCPU=1)])
    query = "resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate"
    assert offered(service, query, "1.33") == ["a VCPU:1, b VCPU:1"] * 2


def test_before_1_29_no_two_providers_of_a_tree(hosts: Service) -> None:
    query = "/allocation_candidates?resources=VCPU:3,DISK_GB:5"
    document = hosts.placement("GET", query, version="1.28").json
    assert len(document["allocation_requests"]) == 2
    assert set(document["provider_summaries"]) == {uuid_of(name) for name in ("array", "h1-a", "h2-a")}
    assert count(hosts, "resources=VCPU:1,SRIOV_NET_VF:1", "1.28") == 0
    assert count(hosts, "resources=VCPU:1,SRIOV_NET_VF:1", "1.29") == 16 - 4 * 2
    assert count(hosts, "resources=VCPU:1,MEMORY_MB:1", "1.28") == 4
    assert count(hosts, "resources=VCPU:1,MEMORY_MB:1&limit=3", "1.28") == 3


def test_the_root_has_to_have_traits(hosts: Service) -> None:
    assert count(hosts, "resources=VCPU:1&root_required=CUSTOM_ROOT") == 2
    assert count(hosts, "resources=VCPU:1&root_required=!CUSTOM_ROOT") == 2
    # Nobody else has such a root, but who shares is found through the host that has it.
    assert count(hosts, "resources=DISK_GB:1&root_required=CUSTOM_ROOT") == 1
    assert count(hosts, "resources=VCPU:1,DISK_GB:1&root_required=CUSTOM_ROOT") == 2
    assert count(hosts, "resources=VCPU:1&root_required=CUSTOM_FAST") == 0


def test_an_aggregate_of_the_root_spans_the_tree_for_the_group_without_suffix(hosts: Service) -> None:
    rack = uuid_of("rack")
    assert count(hosts, f"resources=VCPU:1&member_of={rack}") == 4
    assert count(hosts, f"resources1=VCPU:1&member_of1={rack}") == 0
    assert count(hosts, f"resources1=DISK_GB:1&member_of1={rack}") == 1
    assert count(hosts, f"resources=VCPU:1&member_of=!{rack}") == 0
    assert count(hosts, f"resources1=VCPU:1&member_of1=!{rack}") == 4
    assert count(hosts, f"resources=VCPU:1,DISK_GB:1&member_of=in:{rack},{uuid_of('other')}") == 4
    assert count(hosts, f"resources=VCPU:1&member_of={uuid_of('other')}") == 0


def test_same_subtree(hosts: Service) -> None:
    groups = "resources_C=VCPU:1&resources_N=SRIOV_NET_VF:1&group_policy=none"
    assert count(hosts, groups) == 8
    assert offered(hosts, f"{groups}&same_subtree=_C,_N&limit=9") == [
        f"{host}-{cell} VCPU:1, {host}-{cell}-nic SRIOV_NET_VF:1" for host in ("h1", "h2") for cell in ("a", "b")
    ]
    # Two cards are below one root, but the root must belong to a group.
    cards = "resources1=SRIOV_NET_VF:1&resources2=SRIOV_NET_VF:1&group_policy=isolate"
    assert count(hosts, f"{cards}&same_subtree=1,2") == 0
    assert count(hosts, f"{cards}&required3=CUSTOM_ROOT&same_subtree=1,2,3") == 2


def test_groups_without_resources(hosts: Service) -> None:
    group = "resources1=VCPU:3&same_subtree=1,2"
    document = hosts.placement("GET", f"/allocation_candidates?{group}&required2=CUSTOM_ROOT&group_policy=none").json
    (request,) = document["allocation_requests"]
    assert request["mappings"] == {"1": [uuid_of("h1-a")], "2": [uuid_of("h1")]}
    assert set(request["allocations"]) == {uuid_of("h1-a")}
    # Conditions that forbid, and the tree, count too; the original forgets them.
    assert count(hosts, f"{group}&required2=!CUSTOM_ROOT,!CUSTOM_PORT&group_policy=isolate") == 1
    assert count(hosts, f"{group}&in_tree2={uuid_of('h2')}&group_policy=isolate") == 2
    assert count(hosts, f"{group}&required2=CUSTOM_PORT&in_tree2={uuid_of('h2')}&group_policy=isolate") == 1


def test_mappings_and_summaries(hosts: Service) -> None:
    query = "/allocation_candidates?resources=VCPU:1,DISK_GB:5&resources_N=SRIOV_NET_VF:1&required=CUSTOM_FAST"
    document = hosts.placement("GET", f"{query}&in_tree_N={uuid_of('h1-b-nic')}&limit=1").json
    (request,) = document["allocation_requests"]
    assert set(request["mappings"][""]) == {uuid_of("h1-a"), uuid_of("array")}
    assert request["mappings"]["_N"][0] in {uuid_of("h1-a-nic"), uuid_of("h1-b-nic")}
    summaries: dict[str, Any] = document["provider_summaries"]
    # Whole trees of the providers that give something.
    assert set(summaries) == {uuid_of(one.name) for one in [*HOSTS[:5], ARRAY]}
    assert summaries[uuid_of("h1-b")] == {
        "resources": {"MEMORY_MB": {"capacity": 8, "used": 0}, "VCPU": {"capacity": 4, "used": 2}},
        "traits": [],
        "parent_provider_uuid": uuid_of("h1"),
        "root_provider_uuid": uuid_of("h1"),
    }
    assert summaries[uuid_of("h1")]["resources"] == {}
    assert summaries[uuid_of("array")]["traits"] == [SHARES]


def test_a_tree_that_gives_nothing_has_no_summaries(hosts: Service) -> None:
    document = hosts.placement("GET", "/allocation_candidates?resources=DISK_GB:5").json
    assert set(document["provider_summaries"]) == {uuid_of("array")}


def test_summaries_of_children_of_machines_that_stand_alone(service: Service) -> None:
    seed(service, [spec("root", VCPU=1, MEMORY_MB=1), spec("nic", "root", SRIOV_NET_VF=1)])
    summaries = service.placement("GET", "/allocation_candidates?resources=VCPU:1,MEMORY_MB:1").json[
        "provider_summaries"
    ]
    assert set(summaries) == {uuid_of("root"), uuid_of("nic")}


def test_as_many_statements_for_many_trees_as_for_few(service: Service) -> None:
    for number in range(3):
        hosts = [spec(f"h{number}-{other}") for other in range(1 + 4 * number)]
        cells = [spec(f"{host.name}-c{cell}", host.name, VCPU=4, MEMORY_MB=4) for host in hosts for cell in (0, 1)]
        seed(service, [*hosts, *cells])
    query = "resources1=VCPU:1&resources2=MEMORY_MB:1&group_policy=isolate"
    count(service, query)
    counts = set()
    for limit in (2, 8, 40):
        with service.statements() as statements:
            found = count(service, f"{query}&limit={limit}")
        assert found == min(limit, 30)
        counts.add(len(statements))
    # Where ids are never given out again, they are remembered, and the names of classes.
    assert counts == {5 if service.database_url.startswith("sqlite") else 3}
    with service.statements() as statements:
        assert count(service, query.replace("VCPU:1", "VCPU:5")) == 0
    # The names are looked up all the same, but nothing is searched for twice.
    assert len(statements) == 3


#: Answers that are made of trees read one by one, of trees that others share with, and of providers alone.
WAYS = [
    "resources1=VCPU:1&resources2=SRIOV_NET_VF:1&group_policy=none&same_subtree=1,2",
    "resources=VCPU:1,MEMORY_MB:1",
    "resources=VCPU:1,DISK_GB:1",
    f"resources=VCPU:1,MEMORY_MB:1&member_of={uuid_of('rack')}",
    "resources1=VCPU:1&resources2=MEMORY_MB:1&group_policy=isolate&limit=3",
    "resources=SRIOV_NET_VF:1",
]


def test_nothing_is_asked_while_trees_are_read(
    hosts: Service, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """MariaDB still sends trees then: another statement would end that, and the rest would be missing."""
    reading_trees: list[int] = []
    statements: list[str] = []
    load_trees = provider_rows.load_trees

    def watched(connection: Connection, roots: Iterable[int], **given: Any) -> Generator[list[ProviderRow]]:
        with closing(load_trees(connection, roots, **given)) as trees:
            first = next(trees, [])
            reading_trees.append(len(statements))
            yield first
            yield from trees
        assert len(statements) == reading_trees[-1]

    monkeypatch.setattr(provider_rows, "load_trees", watched)
    for query in WAYS:
        with subtests.test(query=query):
            reading_trees.clear()
            for _ in range(2):
                with hosts.statements() as statements:
                    assert count(hosts, query) > 0
            alone = query == WAYS[-1]
            assert bool(reading_trees) != alone


def test_what_an_answer_was_made_of_is_not_kept(
    hosts: Service, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """An object that refers to itself stays until the collector comes, which is seldom: tens of megabytes for each
    answer."""
    made: list[Any] = []

    def watched(kind: type[Any]) -> Callable[..., Any]:
        def make(*arguments: Any) -> Any:
            made.append(kind(*arguments))
            return made[-1]

        return make

    for module, name in (
        (answer, "Summaries"),
        (fast_path, "Summaries"),
        (search, "Parser"),
        (search, "UnparsedTree"),
    ):
        monkeypatch.setattr(module, name, watched(getattr(module, name)))
    for query in WAYS:
        with subtests.test(query=query):
            count(hosts, query)
            kept = [weakref.ref(one) for one in made]
            gc.disable()
            try:
                made.clear()
                assert kept
                assert [ref() for ref in kept if ref() is not None] == []
            finally:
                gc.enable()


def test_a_trait_that_was_made_anew_is_asked_for_in_trees(service: Service, subtests: pytest.Subtests) -> None:
    """The memory of names must not hide the providers that have the trait by now."""
    for condition in ["CUSTOM_FRESH", "!CUSTOM_FRESH"]:
        with subtests.test(condition=condition), restored(service):
            path = f"resources1=VCPU:1&resources2=MEMORY_MB:1&group_policy=isolate&required1={condition}"
            specs = [spec("h"), *(spec(f"h-{cell}", "h", VCPU=4, MEMORY_MB=4) for cell in "ab")]
            seed(service, specs)
            traits = f"/resource_providers/{uuid_of('h-a')}/traits"
            for _ in range(2):
                service.placement("PUT", "/traits/CUSTOM_FRESH")
                generation = service.placement("GET", traits).json["resource_provider_generation"]
                body = {"resource_provider_generation": generation, "traits": ["CUSTOM_FRESH"]}
                service.placement("PUT", traits, body)
                first, other = ("h-a", "h-b") if condition == "CUSTOM_FRESH" else ("h-b", "h-a")
                assert offered(service, path) == [", ".join(sorted([f"{first} VCPU:1", f"{other} MEMORY_MB:1"]))]
                service.placement("DELETE", traits)
                assert len(offered(service, path)) == (0 if condition == "CUSTOM_FRESH" else 2)
                service.placement("DELETE", "/traits/CUSTOM_FRESH")
                service.placement("GET", f"/allocation_candidates?{path}", status=400)


def test_a_large_product_stops_at_the_limit(service: Service) -> None:
    seed(service, [spec("root"), *(spec(f"port{number}", "root", SRIOV_NET_VF=8) for number in range(16))])
    groups = "&".join(f"resources{number}=SRIOV_NET_VF:1" for number in range(1, 11))
    assert count(service, f"{groups}&group_policy=isolate&limit=20") == 20
    assert count(service, f"{groups}&group_policy=none&limit=20") == 20
    many = "&".join(f"resources{number}=SRIOV_NET_VF:1" for number in range(1, 18))
    assert count(service, f"{many}&group_policy=isolate") == 0
    large = "&".join(f"resources{number}=SRIOV_NET_VF:5" for number in range(1, 18))
    assert count(service, f"{large}&group_policy=none") == 0


def test_the_strategy_and_the_maximum(database_url: str, subtests: pytest.Subtests) -> None:
    for strategy in ["depth-first", "breadth-first"]:
        overrides = {"allocation_candidates_generation_strategy": strategy, "max_allocation_candidates": 4}
        with subtests.test(strategy=strategy), Service(database_url, placement=overrides) as service:
            if strategy == "depth-first":
                seed(service, [*HOSTS, ARRAY])
            found = offered(service, "resources=VCPU:1,SRIOV_NET_VF:1")
            assert len(found) == 4
            on_first = sum(one.startswith("h1") for one in found)
            assert on_first == (2 if strategy == "breadth-first" else 4)
            assert count(service, "resources=VCPU:1,SRIOV_NET_VF:1&limit=3") == 3


def test_random_order(database_url: str) -> None:
    with Service(database_url, placement={"randomize_allocation_candidates": True}) as service:
        seed(service, [spec(f"p{number}", VCPU=1) for number in range(30)])
        samples = {tuple(offered(service, "resources=VCPU:1&limit=3")) for _ in range(5)}
        assert {len(sample) for sample in samples} == {3}
        assert len(samples) > 1
        assert len(offered(service, "resources=VCPU:1")) == 30
