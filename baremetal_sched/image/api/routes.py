"""The image API on one screen."""

from baremetal_sched.image.api import data, images, members, root
from baremetal_sched.image.api.policies import DEFAULT
from baremetal_sched.image.patch import MEDIA_TYPES
from baremetal_sched.web.route import Route, View

_ONE = "/v2/images/<ident>"
_MEMBERS = "/v2/images/<ident>/members"
_MEMBER = "/v2/images/<ident>/members/<member>"
_TAG = "/v2/images/<ident>/tags/<tag>"
_DATA = ("application/octet-stream",)


def _fixed(path: str, view: View, policy: str = DEFAULT) -> Route:
    """A GET that needs no database."""
    return Route("GET", path, view, transaction=None, policy=policy)


def _get(path: str, view: View, policy: str, *, takes_query: bool = False) -> Route:
    return Route("GET", path, view, policy=policy, refuses_query=not takes_query)


def _write(method: str, path: str, view: View, policy: str, takes: tuple[str, ...] = ()) -> Route:
    return Route(method, path, view, transaction="write", policy=policy, takes=takes, refuses_query=True)


ROUTES = (
    Route("GET", "/", root.show_root, transaction=None, public=True),
    Route("GET", "/versions", root.list_versions, transaction=None, public=True),
    _fixed("/v2/schemas/image", root.show_image_schema),
    _fixed("/v2/schemas/images", root.show_images_schema),
    _fixed("/v2/schemas/member", root.show_member_schema),
    _fixed("/v2/schemas/members", root.show_members_schema),
    _fixed("/v2/info/import", root.show_import_methods),
    _fixed("/v2/info/stores", root.refuse_stores),
    _fixed("/v2/tasks", root.list_tasks, "tasks_api_access"),
    _get("/v2/images", images.list_images, "get_images", takes_query=True),
    _write("POST", "/v2/images", images.create_image, "add_image"),
    _get(_ONE, images.show_image, "get_image"),
    _write("PATCH", _ONE, images.update_image, "modify_image", tuple(MEDIA_TYPES)),
    _write("DELETE", _ONE, images.delete_image, "delete_image"),
    _get(f"{_ONE}/file", data.download_image, "download_image", takes_query=True),
    _write("PUT", f"{_ONE}/file", data.upload_image, "upload_image", _DATA),
    Route("PUT", f"{_ONE}/stage", data.stage_image, transaction=None, policy="modify_image", takes=_DATA),
    _write("POST", f"{_ONE}/import", data.import_image, "modify_image"),
    _get(f"{_ONE}/tasks", data.list_tasks, "get_image"),
    _write("POST", f"{_ONE}/actions/deactivate", data.deactivate_image, "deactivate"),
    _write("POST", f"{_ONE}/actions/reactivate", data.reactivate_image, "reactivate"),
    _get(_MEMBERS, members.list_members, "get_members"),
    _write("POST", _MEMBERS, members.add_member, "add_member"),
    _get(_MEMBER, members.show_member, "get_member"),
    _write("PUT", _MEMBER, members.update_member, "modify_member"),
    _write("DELETE", _MEMBER, members.remove_member, "delete_member"),
    _write("PUT", _TAG, images.add_tag, "modify_image"),
    _write("DELETE", _TAG, images.remove_tag, "modify_image"),
)
