# tier: first
"""/v1/chassis; and, with it, what all plain collections have in common."""

from typing import Any

import pytest

from tests.restored import Rows
from tests.service import Service, fault

UUIDS = [f"cccccccc-0000-4000-8000-00000000000{number}" for number in range(4)]


@pytest.fixture
def boxes(service: Service) -> Service:
    for number, uuid in enumerate(UUIDS):
        body = {"uuid": uuid, "description": None if number == 1 else f"box {number % 2}", "extra": {"n": number}}
        service.baremetal("POST", "/chassis", body)
    return service


def uuids(service: Service, query: str = "", **options: Any) -> list[str]:
    return [one["uuid"] for one in service.baremetal("GET", f"/chassis?{query}", **options).json["chassis"]]


def patch(service: Service, uuid: str, *operations: tuple[Any, ...], **expected: Any) -> Any:
    return service.patch_at(f"/chassis/{uuid}", *operations, **expected)


def test_create_and_show(service: Service) -> None:
    response = service.baremetal("POST", "/chassis", {"description": "d", "extra": {"a": 1}}, version="1.1", status=201)
    chassis = response.json
    url = f"http://localhost/baremetal/v1/chassis/{chassis['uuid']}"
    assert response.headers["Location"] == url
    assert chassis["links"][0] == {"href": url, "rel": "self"}
    assert chassis["nodes"][0][0] == {"href": url + "/nodes", "rel": "self"}
    assert (chassis["description"], chassis["extra"], chassis["updated_at"]) == ("d", {"a": 1}, None)
    assert service.baremetal("GET", f"/chassis/{chassis['uuid']}").json == chassis
    assert service.baremetal("POST", "/chassis", {}).json["extra"] == {}


def test_bodies_that_do_not_fit_are_400(service: Service, row: Rows) -> None:
    for body in [
        {"x": 1},
        {"description": 1},
        {"description": "d" * 256},
        {"extra": []},
        {"uuid": "x"},
        {"nodes": []},
        [],
        None,
    ]:
        with row(body):
            if body is None:
                service.http.post("/baremetal/v1/chassis", "null", status=400)
            else:
                service.baremetal("POST", "/chassis", body, status=400)
            assert uuids(service) == []


def test_a_uuid_is_taken_once(boxes: Service) -> None:
    assert UUIDS[0] in fault(boxes.baremetal("POST", "/chassis", {"uuid": UUIDS[0]}, status=409))


def test_the_list_and_its_fields(boxes: Service) -> None:
    first = boxes.baremetal("GET", "/chassis").json["chassis"][0]
    assert set(first) == {"uuid", "description", "links"}
    assert set(boxes.baremetal("GET", "/chassis?fields=extra").json["chassis"][0]) == {"extra", "links"}
    whole = boxes.baremetal("GET", f"/chassis/{UUIDS[0]}").json
    assert boxes.baremetal("GET", "/chassis?detail=true").json["chassis"][0] == whole
    assert boxes.baremetal("GET", "/chassis/detail", version="1.1").json["chassis"][0] == whole
    assert set(boxes.baremetal("GET", f"/chassis/{UUIDS[0]}?fields=nodes").json) == {"nodes", "links"}


def test_parameters_that_cannot_be(boxes: Service) -> None:
    for query in ("fields=bad", "detail=maybe", "detail=true&fields=uuid", "limit=0", "limit=x", "marker=x"):
        boxes.baremetal("GET", f"/chassis?{query}", status=400)
    for query in ("sort_key=extra", "sort_key=nosuch", "sort_dir=up", "description=d"):
        boxes.baremetal("GET", f"/chassis?{query}", status=400)
    boxes.baremetal("GET", "/chassis?fields=uuid", version="1.7", status=406)
    boxes.baremetal("GET", "/chassis?detail=true", version="1.42", status=400)
    boxes.baremetal("GET", "/chassis/detail?fields=uuid", status=400)
    boxes.baremetal("GET", f"/chassis?marker={UUIDS[0][:-1]}9", status=404)


def test_pages_follow_each_other(boxes: Service, row: Rows) -> None:
    for order in ["", "sort_key=description", "sort_key=description&sort_dir=desc", "sort_dir=desc"]:
        with row(order):
            whole, found, url = uuids(boxes, order), [], f"/chassis?limit=1&{order}"
            while url:
                document = boxes.baremetal("GET", url).json
                found += [one["uuid"] for one in document["chassis"]]
                url = document.get("next", "").removeprefix("http://localhost/baremetal/v1")
            assert found == whole
            assert len(set(whole)) == 4


def test_patch(boxes: Service) -> None:
    chassis = patch(boxes, UUIDS[0], ("replace", "/description", "new"), ("add", "/extra/b", 2)).json
    assert (chassis["description"], chassis["extra"]) == ("new", {"n": 0, "b": 2})
    assert chassis["updated_at"]
    assert patch(boxes, UUIDS[0], ("remove", "/extra"), ("remove", "/description")).json["extra"] == {}
    assert patch(boxes, UUIDS[1]).json["updated_at"] is None
    assert patch(boxes, UUIDS[1], ("replace", "/uuid", UUIDS[1])).json["uuid"] == UUIDS[1]


def test_patches_that_do_not_fit_change_nothing(boxes: Service) -> None:
    before = boxes.baremetal("GET", f"/chassis/{UUIDS[0]}").json
    patch(boxes, UUIDS[0], ("add", "/extra/a", 1), ("replace", "/nosuch", 1), status=400)
    patch(boxes, UUIDS[0], ("add", "/extra/a", 1), ("remove", "/extra/nosuch"), status=400)
    patch(boxes, UUIDS[0], ("replace", "/description", 1), status=400)
    patch(boxes, UUIDS[0], ("remove", "/uuid"), status=400)
    for uuid in (UUIDS[1], "99999999-9999-4999-8999-999999999999"):
        refused = patch(boxes, UUIDS[0], ("replace", "/uuid", uuid), status=400)
        assert fault(refused) == "Cannot overwrite UUID for an existing Chassis."
    patch(boxes, UUIDS[0], ("replace", "/nodes", []), status=400)
    assert boxes.baremetal("GET", f"/chassis/{UUIDS[0]}").json == before


def test_what_is_not_there(boxes: Service) -> None:
    missing = UUIDS[0][:-1] + "9"
    for method, body in (("GET", None), ("PATCH", []), ("DELETE", None)):
        assert missing in fault(boxes.baremetal(method, f"/chassis/{missing}", body, status=404))
        boxes.baremetal(method, "/chassis/x", body, status=400)
    boxes.baremetal("PUT", f"/chassis/{UUIDS[0]}", {}, status=405)
    boxes.baremetal("GET", f"/chassis/{missing}/nodes", status=404)


def test_nodes_of_a_chassis(boxes: Service) -> None:
    mine = boxes.add_node("mine", power=False, chassis_uuid=UUIDS[0])
    boxes.add_node("other", power=False, chassis_uuid=UUIDS[1])
    nodes = boxes.baremetal("GET", f"/chassis/{UUIDS[0]}/nodes?limit=1").json
    assert [node["uuid"] for node in nodes["nodes"]] == [mine]
    assert nodes["next"].startswith(f"http://localhost/baremetal/v1/chassis/{UUIDS[0]}/nodes?")
    assert boxes.baremetal("GET", f"/chassis/{UUIDS[0]}/nodes/detail").json["nodes"] == [boxes.node(mine)]
    assert boxes.baremetal("GET", f"/chassis/{UUIDS[0]}/nodes?maintenance=true").json["nodes"] == []
    assert boxes.baremetal("GET", f"/chassis/{UUIDS[2]}/nodes").json["nodes"] == []


def test_a_chassis_with_nodes_stays(boxes: Service) -> None:
    boxes.add_node("n", power=False, chassis_uuid=UUIDS[0])
    boxes.baremetal("DELETE", f"/chassis/{UUIDS[0]}", status=400)
    boxes.patch("n", ("remove", "/chassis_uuid"))
    boxes.baremetal("DELETE", f"/chassis/{UUIDS[0]}", status=204)
    assert UUIDS[0] not in uuids(boxes)
