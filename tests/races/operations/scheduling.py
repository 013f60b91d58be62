"""Requests of the scheduling API: holds, domains, webhooks, claims of several machines, and the end of a claim. (A
claim makes several transactions.)"""

from tests.races.operations.operation import Operation

_CONSUMER = {"uuid": "{new_consumer}", "project_id": "p", "user_id": "u"}
_GROUP = {"resource_class": "gold", "group": "db", "consumer": _CONSUMER}
_FOR_A_WHILE = {"resource_class": "gold", "candidate_nodes": ["n1"], "consumer": _CONSUMER, "for": 7200}

OPERATIONS = (
    *(
        Operation(name, api="scheduling", method="POST", path="/v1/claims", body={**_GROUP, **body}, is_hot=True)
        for name, body in (
            ("claim both", {"count": 2, "spread": {"by": "rack"}}),
            ("claim both and wait", {"count": 2, "spread": {"by": "rack"}, "wait": 3600}),
            ("claim one packed", {"candidate_nodes": ["n1"], "pack": {"by": "rack"}}),
            ("grow", {"candidate_nodes": ["n1"]}),
            ("grow and wait", {"candidate_nodes": ["n1"], "wait": 3600}),
        )
    ),
    Operation("claim for a while", api="scheduling", method="POST", path="/v1/claims", body=_FOR_A_WHILE, is_hot=True),
    *(
        Operation(name, api="scheduling", method="PATCH", path="/v1/claims/{consumer}", body=body, is_hot=True)
        for name, body in (("prolong", {"for": 86_400}), ("take the end away", {"until": None}))
    ),
    Operation("release one", api="placement", method="DELETE", path="/allocations/{instance_1}", is_hot=True),
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
            ("hold of another reason", {"type": "operator_hold", "reason": "another"}),
            ("hold or take it", {"type": "operator_hold", "or_existing": True}),
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
            ("rename", {"reason": "another"}),
        )
    ),
    Operation("release hold", api="scheduling", method="DELETE", path="/v1/nodes/{node}/holds/{hold}", is_hot=True),
    *(
        Operation(name, api="scheduling", method=method, path=f"/v1/domains{path}", body=body)
        for name, method, path, body in (
            ("create rack", "POST", "", {"name": "new", "level": "rack", "parent": "{row}"}),
            ("racks from property", "POST", "/from_property", {"level": "rack", "property": "rack"}),
            ("put rack below none", "PATCH", "/{rack}", {"parent": None}),
            ("put rack2 below row", "PATCH", "/{rack2}", {"parent": "{row}"}),
            ("put row below rack2", "PATCH", "/{row}", {"parent": "{rack2}"}),
            ("delete rack2", "DELETE", "/{rack2}", None),
            ("put node into rack2", "PUT", "/{rack2}/nodes/{node}", None),
            ("put node into switch", "PUT", "/{switch}/nodes/{node}", None),
            ("put node2 into switch", "PUT", "/{switch}/nodes/{node2}", None),
            ("take node out of row", "DELETE", "/{row}/nodes/{node}", None),
        )
    ),
    *(
        Operation(name, api="scheduling", method=method, path=f"/v1/webhooks{path}", body=body)
        for name, method, path, body in (
            ("create webhook", "POST", "", {"url": "https://hooks.example.com/1", "name": "new"}),
            ("create other webhook", "POST", "", {"url": "https://hooks.example.com/2", "name": "other"}),
            ("change webhook", "PATCH", "/{hook}", {"name": "new", "types": ["scheduling.claim.failed"]}),
            ("renew secret", "PATCH", "/{hook}", {"new_secret": True}),
            ("delete webhook", "DELETE", "/{hook}", None),
            ("resume webhook", "POST", "/{hook}/resume", None),
            ("skip an event", "POST", "/{hook}/resume", {"skip": 1}),
        )
    ),
)
