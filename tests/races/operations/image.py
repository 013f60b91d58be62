"""Requests of the image API."""

from functools import partial

from tests.races.operations.operation import Operation

_operation = partial(Operation, api="image")
_IMAGES, _ONE = "/v2/images", "/v2/images/{image}"
_PATCH, _DATA = "application/openstack-images-v2.1-json-patch", "application/octet-stream"

OPERATIONS = (
    _operation(
        "create image",
        method="POST",
        path=_IMAGES,
        body={"id": "{new_image}", "name": "new", "container_format": "bare", "disk_format": "raw"},
    ),
    _operation(
        "patch image",
        method="PATCH",
        path=_ONE,
        body=[
            {"op": "replace", "path": "/trait:CUSTOM_FAST", "value": "required"},
            {"op": "add", "path": "/a", "value": "b"},
        ],
        media_type=_PATCH,
        is_hot=True,
    ),
    _operation("delete image", method="DELETE", path=_ONE, is_hot=True),
    _operation("delete picky image", method="DELETE", path=f"{_IMAGES}/{{picky_image}}", is_hot=True),
    _operation("upload image", method="PUT", path=f"{_IMAGES}/{{queued_image}}/file", body=b"", media_type=_DATA),
    _operation(
        "import image",
        method="POST",
        path=f"{_IMAGES}/{{queued_image}}/import",
        body={"method": {"name": "web-download", "uri": "http://127.0.0.1/a.img"}},
    ),
    _operation("deactivate image", method="POST", path=f"{_ONE}/actions/deactivate", is_hot=True),
    _operation("reactivate image", method="POST", path=f"{_ONE}/actions/reactivate"),
    _operation("add member", method="POST", path=f"{_ONE}/members", body={"member": "blue"}),
    _operation("update member", method="PUT", path=f"{_ONE}/members/green", body={"status": "accepted"}),
    _operation("remove member", method="DELETE", path=f"{_ONE}/members/green"),
    _operation("add image tag", method="PUT", path=f"{_ONE}/tags/two"),
    _operation("remove image tag", method="DELETE", path=f"{_ONE}/tags/one"),
)
