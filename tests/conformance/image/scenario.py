"""Requests that were sent to a Glance, in this order, and are sent to this service.

``{a}`` in a path or a body is the id of the image that a step with ``saves="a"`` created.
"""

from dataclasses import dataclass
from typing import Any

PATCH = "application/openstack-images-v2.1-json-patch"
OLDER_PATCH = "application/openstack-images-v2.0-json-patch"
DATA = "application/octet-stream"
JSON = "application/json"
MISSING = "11111111-2222-4333-8444-555555555555"


@dataclass(frozen=True)
class Step:
    """One request. ``own_words``: the error says something else here than in Glance, and has the same status."""

    method: str
    path: str
    body: Any = None
    media_type: str = JSON
    saves: str | None = None
    own_words: bool = False


def _create(saves: str | None = None, **fields: Any) -> Step:
    return Step("POST", "/v2/images", fields, saves=saves)


def _patch(*operations: dict[str, Any], own_words: bool = False) -> Step:
    return Step("PATCH", "/v2/images/{a}", list(operations), PATCH, own_words=own_words)


def _add(path: Any, *value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, **({"value": value[0]} if value else {})}


def _replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def _remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def _import(body: Any, *, image: str = "{a}") -> Step:
    return Step("POST", f"/v2/images/{image}/import", body)


def _web(uri: Any) -> dict[str, Any]:
    return {"method": {"name": "web-download", "uri": uri}}


_FORMATS = {"disk_format": "raw", "container_format": "bare"}
_LONG = "a" * 256

_CREATING = (
    Step("GET", "/"),
    Step("GET", "/versions"),
    Step("GET", "/v2/nothing"),
    Step("PUT", "/v2/images"),
    Step("GET", f"/v2/images/{MISSING}"),
    Step("GET", "/v2/images/not-a-uuid"),
    _create("a", name="a", x="y", tags=["b", "a", "a"], **_FORMATS),
    _create("b"),
    _create(name=5),
    _create(x=5),
    _create(id="{a}"),
    _create(id="not-a-uuid"),
    *(_create(**{name: "x"}) for name in ("checksum", "created_at", "self", "file", "schema")),
    *(_create(**values) for values in ({"status": "active"}, {"size": 1}, {"locations": []})),
    *(_create(**{name: "x"}) for name in ("stores", "direct_url", "location", "deleted", "os_glance_x")),
    Step("POST", "/v2/images", {"min_ram": -1}, own_words=True),
    Step("POST", "/v2/images", {"min_disk": 2**31}, own_words=True),
    _create(protected="yes"),
    _create(visibility="all"),
    _create(disk_format="zip"),
    _create(os_hidden="x"),
    _create(**{_LONG: "x"}),
    Step("POST", "/v2/images", "{", own_words=True),
    Step("POST", "/v2/images", ""),
    _create("c", name="c", visibility="public", protected=True, os_hidden=True, min_ram=1, min_disk=2, **_FORMATS),
)

_CHANGING = (
    _patch(_replace("/name", "n")),
    _patch(_add("/p", "1"), _add("/a~1b", "2"), _add("/c~0d ", "3")),
    _patch(_add("/p", 1)),
    _patch(_replace("/p", "2"), _remove("/x")),
    _patch(_replace("/q", "1")),
    _patch(_remove("/q")),
    *(_patch(_remove(f"/{name}")) for name in ("name", "owner", "tags", "status")),
    *(_patch(_replace(f"/{name}", "x")) for name in ("status", "id", "direct_url", "os_hash_algo", "location")),
    _patch(_add("/os_glance_x", "x")),
    _patch({"op": "test", "path": "/name", "value": "n"}),
    _patch({"path": "/name", "value": "n"}),
    _patch({"op": "add", "value": "n"}),
    _patch(_add("/z")),
    *(_patch(_add(path, "x")) for path in ("z", "/a/b", "/a//b", "/a/", "//", "/~")),
    _patch(_replace("/tags", ["z", "y", "y"])),
    _patch(_add("/tags/-", "w"), own_words=True),
    _patch(_replace("/locations", [{"url": "http://x", "metadata": {}}]), own_words=True),
    _patch(_add("/locations/-", {"url": "http://x", "metadata": {}}), own_words=True),
    _patch(_remove("/locations/0"), own_words=True),
    _patch(_replace("/min_ram", -1), own_words=True),
    _patch(_replace("/visibility", "bad")),
    _patch(),
    _patch(_add("/name", "again"), _replace("/min_disk", 3), _replace("/protected", True)),
    _patch(_replace("/name", None), _replace("/protected", False)),
    Step("PATCH", "/v2/images/{a}", {}, PATCH),
    Step("PATCH", "/v2/images/{a}", [5], PATCH),
    Step("PATCH", "/v2/images/{a}", [], JSON, own_words=True),
    Step("PATCH", "/v2/images/{a}", "", PATCH),
    Step("PATCH", "/v2/images/{a}", [{"add": "/older", "value": "x"}], OLDER_PATCH),
    Step("PATCH", "/v2/images/{a}", [{"add": "/older", "value": "x"}], OLDER_PATCH),
    Step("PATCH", "/v2/images/{a}", [{"add": "/o", "remove": "/p", "value": "x"}], OLDER_PATCH),
    Step("PATCH", "/v2/images/{a}", [{"value": "x"}], OLDER_PATCH),
    Step("PATCH", f"/v2/images/{MISSING}", [], PATCH),
    Step("GET", "/v2/images/{a}"),
)

_DATA = (
    Step("GET", "/v2/images/{a}/file"),
    Step("PUT", "/v2/images/{a}/file", "", "text/plain", own_words=True),
    Step("PUT", "/v2/images/{a}/stage", "", DATA),
    Step("PUT", "/v2/images/{b}/file", "", DATA),
    _import(_web("http://x/y"), image="{b}"),
    Step("POST", "/v2/images/{b}/actions/deactivate"),
    Step("POST", "/v2/images/{b}/actions/reactivate"),
    *(_import(body) for body in ({}, {"method": {}}, {"method": {"name": "glance-direct"}})),
    *(_import(_web(uri)) for uri in (None, "file:///x", "ftp://x/")),
    _import({"all_stores": "x", **_web("http://x/")}),
    _import(_web("http://x/y"), image=MISSING),
    Step("PUT", "/v2/images/{a}/file", "", DATA),
    Step("GET", "/v2/images/{a}"),
    Step("PUT", "/v2/images/{a}/file", "", DATA),
    _import(_web("http://x/y")),
    _patch(_replace("/disk_format", "qcow2")),
    _patch(_replace("/disk_format", "raw")),
    *(Step("POST", "/v2/images/{a}/actions/deactivate") for _ in range(2)),
    Step("GET", "/v2/images/{a}"),
    *(Step("POST", "/v2/images/{a}/actions/reactivate") for _ in range(2)),
    Step("POST", "/v2/images/{a}/actions/nothing"),
    Step("POST", "/v2/images/{a}/actions/deactivate", {"x": 1}),
    Step("PUT", f"/v2/images/{MISSING}/file", "", DATA),
    Step("GET", f"/v2/images/{MISSING}/file"),
)

_SHARING = (
    Step("GET", "/v2/images/{a}/members"),
    *(Step("POST", "/v2/images/{a}/members", {"member": "p1"}) for _ in range(2)),
    *(Step("POST", "/v2/images/{a}/members", body) for body in ({}, {"member": ""})),
    Step("GET", "/v2/images/{a}/members"),
    Step("GET", "/v2/images/{a}/members/p1"),
    Step("GET", "/v2/images/{a}/members/p2"),
    *(Step("PUT", "/v2/images/{a}/members/p1", body) for body in ({"status": "accepted"}, {"status": "bad"}, {})),
    Step("PUT", "/v2/images/{a}/members/p2", {"status": "accepted"}),
    *(Step("DELETE", "/v2/images/{a}/members/p1") for _ in range(2)),
    Step("GET", "/v2/images/{c}/members"),
    Step("POST", "/v2/images/{c}/members", {"member": "p1"}, own_words=True),
    Step("GET", f"/v2/images/{MISSING}/members", own_words=True),
    *(Step("PUT", "/v2/images/{a}/tags/new") for _ in range(2)),
    Step("GET", "/v2/images/{a}"),
    *(Step("DELETE", "/v2/images/{a}/tags/new", own_words=True) for _ in range(2)),
    Step("PUT", f"/v2/images/{{a}}/tags/{_LONG}", own_words=True),
    Step("GET", "/v2/images/{a}/tags"),
    Step("PUT", f"/v2/images/{MISSING}/tags/new", own_words=True),
)

#: Queries, each of images with the property colour.
_QUERIES = """
sort=name  sort=name:asc  sort=name:asc,size:desc  sort_key=name&sort_dir=asc  sort=disk_format,name:asc
sort=bad  sort=name:up  sort_key=bad  sort_dir=up  sort_key=name&sort_dir=asc&sort_dir=desc  sort=name&sort_key=id
sort=name:asc&limit=1  sort=name:asc&limit=1&marker={d}  sort=name:asc&limit=5  limit=0  limit=-1  limit=x
marker=nothing  name=list+d  name=list:d  name=in:%22list+d%22,x  name=in:list+d,list+e&sort=name  name=neq:a
id=in:{d},{a}  id=in:  status=in:queued,active&sort=name  status=bad
visibility=bad  visibility=private  visibility=all&sort=name  visibility=
member_status=bad  member_status=all&sort=name
os_hidden=True  os_hidden=x  protected=True  protected=true  protected=false&sort=name
created_at=gt:2020-01-01T00:00:00Z&sort=name  created_at=lt:2020-01-01T00:00:00Z  created_at=2020-01-01T00:00:00Z
created_at=x  updated_at=gte:2020&sort=name  changes-since=2020-01-01T00:00:00Z
size_min=1  size_min=x  min_ram=0&sort=name  min_ram_min=1  min_disk_max=0&sort=name  checksum=x
tag=t1&sort=name  tag=t3  name=list+d&deleted=true
"""

_LISTING = (
    *(_create(name, name=f"list {name}", colour="red", tags=["t1", "t2"], **_FORMATS) for name in ("d", "e")),
    *(Step("GET", f"/v2/images?colour=red&{query}") for query in _QUERIES.split()),
    *(
        Step("GET", f"/v2/images?{query}", own_words=True)
        for query in ("name=in:%22a", "name=in:a%22b", "created_at=foo:2020-01-01T00:00:00Z")
    ),
    Step("GET", "/v2/images?name=c"),
    Step("GET", "/v2/images?name=c&os_hidden=true"),
)

_DELETING = (
    Step("DELETE", "/v2/images/{c}"),
    Step("PATCH", "/v2/images/{c}", [_replace("/protected", False)], PATCH),
    *(Step("DELETE", "/v2/images/{c}") for _ in range(2)),
    Step("GET", "/v2/images/{c}"),
    Step("DELETE", f"/v2/images/{MISSING}"),
    *(Step("GET", f"/v2/schemas/{name}") for name in ("image", "images", "member", "members")),
    *(Step("GET", f"/v2/{path}") for path in ("info/import", "info/stores", "tasks", "images/{a}/tasks")),
)

STEPS = (*_CREATING, *_CHANGING, *_DATA, *_SHARING, *_LISTING, *_DELETING)
