# tier: first
"""/v1/nodes/{node}/children, and what lists make of children."""

from tests.service import Service


def uuids(service: Service, query: str, version: str = "1.115") -> list[str]:
    return [node["uuid"] for node in service.baremetal("GET", f"/nodes{query}", version=version).json["nodes"]]


def test_the_children_of_a_node(service: Service) -> None:
    parent = service.add_node("p", power=False)
    first = service.add_node("c1", power=False, parent_node="p")
    second = service.add_node("c2", power=False, parent_node=parent)
    document = service.baremetal("GET", "/nodes/p/children").json
    assert document == {
        "children": [first, second],
        "links": {"href": f"http://localhost/baremetal/v1/nodes?parent_node={parent}", "rel": "children"},
    }
    assert service.baremetal("GET", f"/nodes/{first}/children").json["children"] == []
    service.baremetal("GET", "/nodes/nosuch/children", status=404)
    service.baremetal("GET", "/nodes/p/children", version="1.82", status=404)
    service.baremetal("GET", "/nodes/p/children?limit=1", status=400)


def test_lists_leave_children_out_unless_they_are_asked_for(service: Service) -> None:
    parent = service.add_node("p", power=False)
    child = service.add_node("c", power=False, parent_node=parent, owner="o", shard="s")
    alone = service.add_node("a", power=False)
    for version in ("1.1", "1.82", "1.115"):
        assert uuids(service, "", version) == uuids(service, "/detail", version) == [parent, alone]
    for path in ("", "/detail"):
        assert uuids(service, f"{path}?include_children=true") == [parent, child, alone]
        assert uuids(service, f"{path}?include_children=false") == [parent, alone]
        assert uuids(service, f"{path}?parent_node={parent}") == [child]
        assert uuids(service, f"{path}?parent_node={parent.replace('-', '').upper()}") == [child]
        assert uuids(service, f"{path}?parent_node=p") == [child]
        assert uuids(service, f"{path}?parent_node=nosuch") == uuids(service, f"{path}?parent_node={alone}") == []
        assert uuids(service, f"{path}?parent_node={parent}&include_children=false") == [child]
        assert uuids(service, f"{path}?owner=o") == uuids(service, f"{path}?shard=s") == []
        assert uuids(service, f"{path}?owner=o&include_children=true") == [child]
    service.baremetal("GET", "/nodes?include_children=true", version="1.82", status=406)
    service.baremetal("GET", f"/nodes?parent_node={parent}", version="1.82", status=406)
    assert uuids(service, "/detail?include_children=true", "1.82") == [parent, child, alone]
    assert uuids(service, f"/detail?parent_node={parent}", "1.82") == [child]
