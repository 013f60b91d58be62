"""Two tenants of the compute, image and scheduling APIs: neither sees nor changes what the other has.

Each plants words in all that it may name. Then every route is asked for what belongs to the other: no answer may have a
word that was not in the request.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from webtest import TestResponse

from baremetal_sched.compute.api.server_actions import ACTIONS
from baremetal_sched.web.route import Route
from tests.functional.compute.world import ZEROS
from tests.reference import ROUTES
from tests.service import Service

ADMIN = {"X-Auth-Token": "admin:operators", "X-Roles": "admin,member,reader"}
SYSTEM = {**ADMIN, "OpenStack-System-Scope": "all"}
APIS = ("compute", "image", "scheduling")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE5vHVSmuTxJ5ivDGgnJgnwnFhR9v4GSuIRFFbBVKqm9"


@dataclass
class Tenant:
    """A project with one user, and what it has: words, and ids by the parameters of paths."""

    name: str
    words: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def headers(self) -> dict[str, str]:
        """Who they say they are."""
        return {
            "X-Auth-Token": f"{self.name}-user:{self.name}-project",
            "X-Roles": "manager,member,reader",
            "OpenStack-API-Version": "compute 2.100",
        }

    def word(self, kind: str) -> str:
        """A new word."""
        self.words.append(f"{self.name}s-{kind}")
        return self.words[-1]


def send(
    service: Service, tenant: Tenant, method: str, path: str, body: Any = None, media_type: str = "application/json"
) -> TestResponse:
    """A request of the tenant, whatever is answered."""
    sent = b"" if body is None else orjson.dumps(body)
    headers = tenant.headers if method == "GET" else {**tenant.headers, "Content-Type": media_type}
    return service.http.request(path, method=method, headers=headers, body=sent, expect_errors=True)


def plant(service: Service, tenant: Tenant) -> None:
    """Let the tenant have one of everything."""
    project = f"{tenant.name}-project"
    # A flavor, and a node, that administrators made for it.
    flavor = {"name": tenant.word("flavor"), "id": tenant.word("flavor-id"), "description": tenant.word("flavored")}
    amounts = {"ram": 1024, "vcpus": 1, "disk": 10, "os-flavor-access:is_public": False}
    service.compute("POST", "/flavors", {"flavor": {**flavor, **amounts}}, headers=ADMIN)
    path = f"/flavors/{flavor['id']}"
    specs = {"resources:CUSTOM_GOLD": "1", **ZEROS, "note": tenant.word("spec")}
    service.compute("POST", f"{path}/os-extra_specs", {"extra_specs": specs}, headers=ADMIN)
    service.compute("POST", f"{path}/action", {"addTenantAccess": {"tenant": project}}, headers=ADMIN)
    node = service.add_node(tenant.word("node"), owner=project, extra={"note": tenant.word("extra")})
    service.add_node(f"{tenant.name}-spare", owner=project, resource_class=f"{tenant.name}-spare")
    booking = {
        "resource_class": f"{tenant.name}-spare", "name": tenant.word("booking"), "project_id": project,
        "user_id": f"{tenant.name}-user", "for": 3600,
    }  # fmt: skip
    booked = service.http.post_json("/scheduling/v1/bookings", booking, headers=SYSTEM, status=201).json["uuid"]
    # What it makes itself.
    pair = {"name": tenant.word("key"), "public_key": f"{KEY} {tenant.word('comment')}", "type": "ssh"}
    created = send(service, tenant, "POST", "/compute/v2.1/os-keypairs", {"keypair": pair})
    assert created.status_int == 201, created.text
    image = {
        "name": tenant.word("image"), "visibility": "private", "tags": [tenant.word("image-tag")],
        "note": tenant.word("property"), "container_format": "bare", "disk_format": "raw",
    }  # fmt: skip
    ident = send(service, tenant, "POST", "/image/v2/images", image).json["id"]
    source = {"method": {"name": "web-download", "uri": f"http://{tenant.word('location')}/image"}}
    assert send(service, tenant, "POST", f"/image/v2/images/{ident}/import", source).status_int == 202
    shared = send(service, tenant, "POST", "/image/v2/images", {"name": tenant.word("shared")}).json["id"]
    member = {"member": tenant.word("member")}
    assert send(service, tenant, "POST", f"/image/v2/images/{shared}/members", member).status_int == 200
    server = {
        "name": tenant.word("server"), "description": tenant.word("description"), "flavorRef": flavor["id"],
        "imageRef": ident, "networks": "none", "key_name": pair["name"], "tags": [tenant.word("tag")],
        "metadata": {tenant.word("metadata-key"): tenant.word("metadata")}, "hostname": tenant.word("host"),
    }  # fmt: skip
    group = {"server_group": {"name": tenant.word("group"), "policies": ["affinity"]}}
    version = {"OpenStack-API-Version": "compute 2.15"}
    made = service.compute("POST", "/os-server-groups", group, version="2.15", headers={**tenant.headers, **version})
    group_id = made.json["server_group"]["id"]
    body = {"server": server, "os:scheduler_hints": {"note": tenant.word("hint"), "group": group_id}}
    answer = send(service, tenant, "POST", "/compute/v2.1/servers", body)
    assert answer.status_int == 202, answer.text
    uuid = answer.json["server"]["id"]
    service.work()
    reason = {"lock": {"locked_reason": tenant.word("reason")}}
    assert send(service, tenant, "POST", f"/compute/v2.1/servers/{uuid}/action", reason).status_int == 202
    actions = send(service, tenant, "GET", f"/compute/v2.1/servers/{uuid}/os-instance-actions").json["instanceActions"]
    waiting = {"query": "resources=CUSTOM_NONE:1", "wait": 600, "even_if_impossible": True}
    claim = send(service, tenant, "POST", "/scheduling/v1/claims", waiting)
    assert claim.status_int == 202, claim.text
    hold = {"type": "operator_hold", "reason": tenant.word("hold-reason")}
    held = service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", hold, headers=SYSTEM, status=201)
    domain = {"name": tenant.word("rack"), "level": "rack"}
    rack = service.http.post_json("/scheduling/v1/domains", domain, headers=SYSTEM, status=201).json["uuid"]
    service.http.put(f"/scheduling/v1/domains/{rack}/nodes/{node}", headers=SYSTEM, status=204)
    theirs = {"X-Auth-Token": f"root:{project}", "X-Roles": "admin"}
    sent = {"url": f"https://{tenant.name}.example.com/"}
    hook = service.http.post_json("/scheduling/v1/webhooks", sent, headers=theirs, status=201).json
    tenant.ids |= {
        "webhook": hook["uuid"],
        "domain": rack,
        "claim": claim.json["uuid"],
        "booking": booked,
        "group_id": group_id,
        "hold": held.json["uuid"],
        "server_id": uuid, "ident": ident, "image_id": ident, "flavor_id": flavor["id"],
        "name": pair["name"], "project_id": project,
        "request_id": actions[0]["request_id"], "member": member["member"], "tag": tenant.words[-4],
        "key": "note", "network": "n", "alias": "os-keypairs", "shared": shared, "node": node,
    }  # fmt: skip
    tenant.words += [
        rack,
        group_id,
        tenant.ids["claim"],
        booked,
        tenant.ids["hold"],
        uuid,
        ident,
        shared,
        node,
        actions[0]["request_id"],
        f"{tenant.name}-user",
        project,
    ]


@pytest.fixture
def tenants(database_url: str) -> Iterator[tuple[Service, Tenant, Tenant]]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        anna, bert = Tenant("anna"), Tenant("bert")
        plant(service, anna)
        plant(service, bert)
        yield service, anna, bert


#: The body of a request that changes something; ``{name}`` is an id of the other tenant's.
BODIES: dict[tuple[str, str], list[Any]] = {
    ("POST", "/v2.1/flavors"): [{"flavor": {"name": "x", "ram": 1, "vcpus": 1, "disk": 1}}],
    ("PUT", "/v2.1/flavors/<flavor_id>"): [{"flavor": {"description": "mine"}}],
    ("POST", "/v2.1/flavors/<flavor_id>/os-extra_specs"): [{"extra_specs": {"note": "mine"}}],
    ("PUT", "/v2.1/flavors/<flavor_id>/os-extra_specs/<key>"): [{"note": "mine"}],
    ("POST", "/v2.1/flavors/<flavor_id>/action"): [
        {"addTenantAccess": {"tenant": "mine"}},
        {"removeTenantAccess": {"tenant": "{project_id}"}},
    ],
    ("POST", "/v2.1/os-keypairs"): [{"keypair": {"name": "x", "type": "ssh", "public_key": KEY, "user_id": "{user}"}}],
    ("PUT", "/v2.1/os-quota-sets/<project_id>"): [{"quota_set": {"cores": 1}}],
    ("POST", "/v2.1/servers"): [
        {"server": {"name": "x", "flavorRef": "{flavor_id}", "imageRef": "{ident}", "networks": "none"}},
        {"server": {"name": "x", "flavorRef": "own", "imageRef": "{ident}", "networks": "none"}},
        {"server": {"name": "x", "flavorRef": "own", "imageRef": "own", "networks": "none", "key_name": "{name}"}},
        {"server": {"name": "x", "flavorRef": "own", "imageRef": "own", "networks": "none",
                    "hypervisor_hostname": "{node}"}},
        {"server": {"name": "x", "flavorRef": "own", "imageRef": "own", "networks": "none",
                    "availability_zone": "nova::{node}"}},
        {"server": {"name": "x", "flavorRef": "own", "imageRef": "own", "networks": "none"},
         "os:scheduler_hints": {"group": "{group_id}"}},
    ],
    ("PUT", "/v2.1/servers/<server_id>"): [{"server": {"name": "mine"}}],
    ("POST", "/v2.1/servers/<server_id>/action"): [
        {name: {"reboot": {"type": "HARD"}, "rebuild": {"imageRef": "own"}}.get(name)} for name in ACTIONS
    ],
    ("POST", "/v2.1/servers/<server_id>/metadata"): [{"metadata": {"mine": "x"}}],
    ("PUT", "/v2.1/servers/<server_id>/metadata"): [{"metadata": {"mine": "x"}}],
    ("PUT", "/v2.1/servers/<server_id>/metadata/<key>"): [{"meta": {"note": "mine"}}],
    ("PUT", "/v2.1/servers/<server_id>/tags"): [{"tags": ["mine"]}],
    ("POST", "/v2/images"): [{"name": "x", "owner": "{project_id}"}, {"id": "{ident}"}],
    ("PATCH", "/v2/images/<ident>"): [[{"op": "replace", "path": "/name", "value": "mine"}]],
    ("POST", "/v2/images/<ident>/import"): [{"method": {"name": "web-download", "uri": "http://mine/"}}],
    ("POST", "/v2/images/<ident>/members"): [{"member": "bert-project"}],
    ("PUT", "/v2/images/<ident>/members/<member>"): [{"status": "accepted"}],
    ("POST", "/v1/claims"): [
        {"query": "resources=CUSTOM_NONE:1", "consumer": {"uuid": "{claim}"}},
        {"query": "resources=CUSTOM_NONE:1", "consumer": {"project_id": "{project_id}"}},
        {"flavor": "{flavor_id}"},
        {"query": "resources=CUSTOM_NONE:1", "booking": "{booking}", "wait": 60},
    ],
    ("POST", "/v1/bookings"): [
        {"query": "resources=CUSTOM_NONE:1", "for": 3600, "uuid": "{booking}"},
        {"query": "resources=CUSTOM_NONE:1", "for": 3600, "project_id": "{project_id}"},
        {"flavor": "{flavor_id}", "for": 3600},
    ],
    ("PATCH", "/v1/bookings/<booking>"): [{"name": "mine"}, {"count": 2}],
    ("POST", "/v1/nodes/<node>/holds"): [{"type": "window"}],
    ("POST", "/v1/holds"): [{"type": "window", "filter": {"nodes": ["{node}"]}}],
    ("POST", "/v1/webhooks"): [{"url": "https://mine.example.com/", "nodes": ["{node}"]}],
    ("PATCH", "/v1/webhooks/<webhook>"): [{"url": "https://mine.example.com/"}],
    ("POST", "/v1/requests"): [{"flavor": "{flavor_id}"}, {"flavor": "own", "image": "{ident}"}],
}  # fmt: skip

#: Queries that name resources of the other tenant, or ask for everything.
QUERIES = {
    "/v2.1/servers": (
        "all_tenants=1", "all_tenants=0&project_id={project_id}", "tenant_id={project_id}", "user_id={user}",
        "marker={server_id}", "name=s-server", "host=c1", "node={node}", "uuid={server_id}",
    ),
    "/v2.1/servers/detail": ("all_tenants=True&tenant_id={project_id}", "project_id={project_id}", "limit=1"),
    "/v2.1/flavors": ("is_public=None", "is_public=false", "marker={flavor_id}"),
    "/v2.1/flavors/detail": ("is_public=None",),
    "/v2.1/os-keypairs": ("user_id={user}", "marker={name}"),
    "/v2.1/os-keypairs/<name>": ("user_id={user}",),
    "/v2.1/limits": ("tenant_id={project_id}",),
    "/v2.1/os-server-groups": ("all_projects=1", "limit=0"),
    "/v1/claims": ("project_id={project_id}", "marker={claim}"),
    "/v1/claims/<claim>": ("wait=1",),
    "/v1/bookings": ("project_id={project_id}", "marker={booking}", "state=running"),
    "/v1/events": ("after=now", "node={node}"),
    "/v1/holds": ("owner={project_id}", "marker={hold}", "lessee={project_id}"),
    "/v2/images": (
        "owner={project_id}", "visibility=all", "visibility=private", "visibility=shared&member_status=all",
        "marker={ident}", "name=in:a,b", "id={ident}", "visibility=community",
    ),
}  # fmt: skip


def filled(value: Any, mine: Tenant, other: Tenant) -> Any:
    """``value`` with ids of the other tenant's; ``own`` stands for one of the tenant's own."""
    if isinstance(value, dict):
        owned = {"flavorRef": "flavor_id", "flavor": "flavor_id", "imageRef": "ident", "image": "ident"}
        return {
            key: mine.ids[owned[key]] if each == "own" else filled(each, mine, other) for key, each in value.items()
        }
    if isinstance(value, list):
        return [filled(each, mine, other) for each in value]
    known = {**other.ids, "user": f"{other.name}-user"}
    return re.sub(r"\{(\w+)\}", lambda found: known[found[1]], value) if isinstance(value, str) else value


def requests_of(api: str, route: Route, mine: Tenant, other: Tenant) -> Iterator[tuple[str, Any]]:
    """Addresses and bodies by which ``mine`` asks the route for what ``other`` has."""
    for ids in (other.ids, {**other.ids, "ident": other.ids["shared"]}):
        path = f"/{api}" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found, ids=ids: quote(ids[found[1]]), route.path)
        for body in BODIES.get((route.method, route.path), [None]):
            yield path, filled(body, mine, other)
        for query in QUERIES.get(route.path, ()) if route.method == "GET" else ():
            yield f"{path}?{filled(query, mine, other)}", None


def seen_by(service: Service, tenant: Tenant) -> list[str]:
    """The tenant's own resources, as it sees them."""
    ids = tenant.ids
    paths = (
        f"/compute/v2.1/servers/{ids['server_id']}", f"/compute/v2.1/os-keypairs/{ids['name']}",
        f"/compute/v2.1/flavors/{ids['flavor_id']}", "/compute/v2.1/servers/detail", "/compute/v2.1/os-keypairs",
        "/compute/v2.1/os-server-groups", f"/compute/v2.1/os-server-groups/{ids['group_id']}",
        f"/compute/v2.1/servers/{ids['server_id']}/os-instance-actions", f"/image/v2/images/{ids['ident']}",
        f"/image/v2/images/{ids['shared']}", f"/image/v2/images/{ids['shared']}/members", "/image/v2/images",
        f"/scheduling/v1/claims/{ids['claim']}", "/scheduling/v1/claims", "/scheduling/v1/holds",
        "/scheduling/v1/domains", f"/scheduling/v1/bookings/{ids['booking']}", "/scheduling/v1/bookings",
    )  # fmt: skip
    answers = [send(service, tenant, "GET", path) for path in paths]
    assert {answer.status_int for answer in answers} == {200}
    return [answer.text for answer in answers]


def test_neither_sees_nor_changes_what_the_other_has(tenants: tuple[Service, Tenant, Tenant]) -> None:
    service, anna, bert = tenants
    before = [seen_by(service, tenant) for tenant in (anna, bert)]
    # Of its own it sees all words but one of its node, which is not of these APIs.
    assert [word for word in anna.words if word not in "".join(before[0])] == ["annas-extra"]
    asked = 0
    for mine, other in ((anna, bert), (bert, anna)):
        for api, route in ROUTES:
            if api not in APIS:
                continue
            for path, body in requests_of(api, route, mine, other):
                media_type = route.takes[0] if route.takes else "application/json"
                answer = send(service, mine, route.method, path, body, media_type)
                asked += 1
                said = f"{route.method} {path} {body}: {answer.status}"
                assert answer.status_int < 500, f"{said} {answer.text}"
                request = f"{path} {orjson.dumps(body).decode()}"
                text = answer.text + str(answer.headers)
                assert [word for word in other.words if word in text and word not in request] == [], said
                if route.method != "GET" and any(
                    each in route.path for each in ("server_id", "ident", "flavor_id", "group_id")
                ):
                    assert answer.status_int in (400, 403, 404), said
    assert asked > 300
    assert [seen_by(service, tenant) for tenant in (anna, bert)] == before


def test_servers_and_their_allocations_belong_to_who_asked(tenants: tuple[Service, Tenant, Tenant]) -> None:
    service, anna, _ = tenants
    held = service.placement("GET", f"/allocations/{anna.ids['server_id']}", headers=ADMIN).json
    assert (held["project_id"], held["user_id"]) == ("anna-project", "anna-user")
    assert list(held["allocations"]) == [anna.ids["node"]]
    usages = service.placement("GET", "/usages?project_id=anna-project", headers=ADMIN).json["usages"]
    assert usages["INSTANCE"]["CUSTOM_GOLD"] == 1
    everything = service.compute("GET", "/servers/detail?all_tenants=1", headers=ADMIN).json["servers"]
    assert {server["tenant_id"] for server in everything} == {"anna-project", "bert-project"}


#: Where it cannot be hidden that something is there: ids of images, claims and bookings are free for clients to choose,
#: and unique.
TAKEN_IDS = {
    *(("POST", "/v2/images", f'{{"id":"{{{kind}}}"}}') for kind in ("ident", "shared")),
    ("POST", "/v1/claims", '{"query":"resources=CUSTOM_NONE:1","consumer":{"uuid":"{claim}"}}'),
    ("POST", "/v1/bookings", '{"query":"resources=CUSTOM_NONE:1","for":3600,"uuid":"{booking}"}'),
}


def test_what_the_other_has_is_answered_like_what_is_not_there(tenants: tuple[Service, Tenant, Tenant]) -> None:
    service, anna, bert = tenants
    nobody = Tenant("nobo", ids={kind: unknown(ident) for kind, ident in bert.ids.items()})
    asked, differing = 0, []
    for api, route in ROUTES:
        if api not in APIS:
            continue
        takes = route.takes[0] if route.takes else "application/json"
        pairs = zip(requests_of(api, route, anna, bert), requests_of(api, route, anna, nobody), strict=True)
        for there, missing in pairs:
            body = nameless(orjson.dumps(there[1]).decode(), bert)
            if there == missing or (route.method, route.path, body) in TAKEN_IDS:
                continue
            answers = []
            for tenant, (path, sent) in ((bert, there), (nobody, missing)):
                answer = send(service, anna, route.method, path, sent, takes)
                answers.append((answer.status_int, nameless(answer.text, tenant)))
            asked += 1
            differing += [(route.method, *there, *answers)] if answers[0] != answers[1] else []
    assert differing == []
    assert asked > 100


def unknown(ident: str) -> str:
    """An id like this one that nothing has."""
    if re.fullmatch(r"[0-9a-f-]{36}", ident):
        return ident[::-1].replace("-", "")[:8] + ident[8:]
    if ident.startswith("req-"):
        return f"req-{unknown(ident[4:])}"
    return ident.replace("bert", "nobo")


def nameless(text: str, tenant: Tenant) -> str:
    """``text`` with the tenant's ids replaced by what they are ids of."""
    for kind, ident in sorted(tenant.ids.items(), key=lambda pair: -len(pair[1])):
        if len(ident) > len("note"):
            text = text.replace(ident, f"{{{kind}}}")
    return text.replace(tenant.name, "{tenant}")
