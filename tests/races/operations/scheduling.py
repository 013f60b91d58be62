"""Requests of the scheduling API: holds, and the end of a claim. (What asks for one makes several transactions.)"""

from tests.races.operations.operation import Operation

OPERATIONS = (
    Operation("delete claim", api="scheduling", method="DELETE", path="/v1/claims/{instance}", is_hot=True),
    Operation("delete picky claim", api="scheduling", method="DELETE", path="/v1/claims/{new_consumer}", is_hot=True),
    *(
        Operation(
            f"assert {name}", api="scheduling", method="POST", path="/v1/nodes/{node}/holds", body=body, is_hot=True
        )
        for name, body in (
            ("hold", {"type": "operator_hold"}),
            ("lockout", {"type": "lockout"}),
            ("planned hold", {"type": "window", "starts_at": "2050-01-01T00:00:00Z"}),
            ("draining hold", {"type": "window", "drain": True}),
        )
    ),
    Operation(
        "assert holds",
        api="scheduling",
        method="POST",
        path="/v1/holds",
        body={"type": "operator_hold", "filter": {"resource_class": "gold"}},
    ),
    Operation("release holds", api="scheduling", method="DELETE", path="/v1/nodes/{node}/holds", is_hot=True),
    *(
        Operation(
            f"{name} hold",
            api="scheduling",
            method="PATCH",
            path="/v1/nodes/{node}/holds/{hold}",
            body=body,
            is_hot=True,
        )
        for name, body in (
            ("extend", {"ends_at": None, "reason": "longer"}),
            ("shorten", {"ends_at": "2049-01-01T00:00:00Z"}),
        )
    ),
    Operation("release hold", api="scheduling", method="DELETE", path="/v1/nodes/{node}/holds/{hold}", is_hot=True),
)
