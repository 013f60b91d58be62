# tier: first
"""/v1/shards"""

from tests.service import Service, fault


def test_shards_by_falling_size(service: Service) -> None:
    assert service.baremetal("GET", "/shards").json == {"shards": []}
    for number, shard in enumerate(["b", "a", None, "b", None, None, "B"]):
        service.add_node(f"n{number}", power=False, **({"shard": shard} if shard else {}))
    assert service.baremetal("GET", "/shards").json == {
        "shards": [
            {"name": "None", "count": 3},
            {"name": "b", "count": 2},
            {"name": "B", "count": 1},
            {"name": "a", "count": 1},
        ]
    }


def test_children_count_as_nodes(service: Service) -> None:
    parent = service.add_node("n1", power=False, shard="a")
    service.add_node("n2", power=False, shard="a", parent_node=parent)
    assert service.baremetal("GET", "/shards").json["shards"] == [{"name": "a", "count": 2}]


def test_what_is_refused(service: Service) -> None:
    assert fault(service.baremetal("GET", "/shards", version="1.81", status=404)) == (
        "The API version does not allow shards"
    )
    service.baremetal("GET", "/shards?limit=1", status=400)
    assert fault(service.baremetal("GET", "/shards/a", status=404))
    service.baremetal("POST", "/shards", {}, status=405)
