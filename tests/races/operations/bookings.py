"""Requests for bookings: one day of 2050 of the only machine of a class, or from now on."""

from tests.races.operations.operation import Operation

_CONSUMER = {"uuid": "{new_consumer}", "project_id": "p", "user_id": "u"}
_GOLD = {"resource_class": "gold", "project_id": "p", "user_id": "u"}
_DAY = {"starts_at": "2050-01-02T00:00:00Z", "ends_at": "2050-01-03T00:00:00Z"}
_UNDER = {"resource_class": "gold", "consumer": _CONSUMER, "booking": "{booking}"}

OPERATIONS = (
    *(
        Operation(name, api="scheduling", method="POST", path="/v1/bookings", body={**_GOLD, **body}, is_hot=True)
        for name, body in (
            ("book", {**_DAY, "uuid": "{new_booking}"}),
            ("book the same day", {**_DAY, "uuid": "{other_booking}"}),
            ("book from now on", {"for": 86_400, "uuid": "{other_booking}"}),
        )
    ),
    *(
        Operation(name, api="scheduling", method="PATCH", path="/v1/bookings/{booking}", body=body, is_hot=True)
        for name, body in (
            ("end booking later", {"ends_at": "2050-02-02T00:00:00Z"}),
            ("begin booking sooner", {"starts_at": "2050-01-01T00:00:00Z"}),
            ("book one more", {"count": 2}),
            ("rename booking", {"name": "another"}),
        )
    ),
    Operation("cancel booking", api="scheduling", method="DELETE", path="/v1/bookings/{booking}", is_hot=True),
    Operation(
        "cancel used booking", api="scheduling", method="DELETE", path="/v1/bookings/{booking}?force=true", is_hot=True
    ),
    *(
        Operation(name, api="scheduling", method="POST", path="/v1/claims", body=body, is_hot=True)
        for name, body in (
            ("claim under booking", _UNDER),
            ("claim under booking and wait", {**_UNDER, "wait": 3600}),
            ("claim until 2050", {"resource_class": "gold", "consumer": _CONSUMER, "until": "2050-01-01T00:00:00Z"}),
        )
    ),
    Operation(
        "prolong to 2051",
        api="scheduling",
        method="PATCH",
        path="/v1/claims/{consumer}",
        body={"until": "2051-01-01T00:00:00Z"},
        is_hot=True,
    ),
)
