"""Checks that hold after any request: every list answers, and the database is sound."""

from collections.abc import Iterable, Iterator

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.transaction import Database
from tests.functional.fuzz.worlds import Call
from tests.reference import ROUTES

_NEEDS_PARAMETERS = {
    *("/allocation_candidates", "/usages", "/v1/explanations"),
    *("/v1/lookup", "/v1/nodes/validate", "/v1/nodes/"),
}
_PAGE = 300


def broken_lists(call: Call, nodes: Iterable[str], providers: Iterable[str]) -> list[str]:
    """Every collection that does not answer 200, page after page; and those below some nodes and providers."""
    found = []
    for api, path in [*_collections(), *_of_nodes(nodes), *_of_providers(providers)]:
        found += _pages(call, api, path)
    for query in ("project_id=p", "project_id=p&user_id=u"):
        found += _pages(call, "placement", f"/usages?{query}")
    for name in ("VCPU", "CUSTOM_GOLD"):
        found += _pages(call, "placement", f"/allocation_candidates?resources={name}:1&limit=50")
        found += _pages(call, "scheduling", f"/v1/explanations?resources={name}:1")
    return found


def _collections() -> Iterator[tuple[str, str]]:
    for api, route in ROUTES:
        if route.method == "GET" and "<" not in route.path and route.path not in _NEEDS_PARAMETERS:
            yield api, route.path


def _of_nodes(nodes: Iterable[str]) -> Iterator[tuple[str, str]]:
    below = (
        "",
        "/states",
        "/traits",
        "/ports/detail",
        "/portgroups/detail",
        "/volume/targets",
        "/history",
        "/children",
    )
    for node in nodes:
        yield from (("baremetal", f"/v1/nodes/{node}{path}") for path in below)


def _of_providers(providers: Iterable[str]) -> Iterator[tuple[str, str]]:
    for provider in providers:
        for path in ("", "/inventories", "/usages", "/aggregates", "/traits", "/allocations"):
            yield "placement", f"/resource_providers/{provider}{path}"
        yield "placement", f"/resource_providers?in_tree={provider}"


def _pages(call: Call, api: str, path: str) -> Iterator[str]:
    """The errors of a list; a list that is gone has none."""
    is_paged = api == "baremetal" and path in _PAGED
    last = f"{path}?limit={_PAGE}" if is_paged else path
    while last:
        status, document = call(api, "GET", last)
        if status not in (200, 300, 404) or (status == 404 and path.count("/") < 3 and api == "baremetal"):
            yield f"{api} GET {last} -> {status} {document!r:.500}"
            return
        following = document.get("next") if is_paged and isinstance(document, dict) else None
        last = "/v1" + following.partition("/baremetal/v1")[2] if following else ""


_PAGED = {
    *("/v1/nodes", "/v1/nodes/detail", "/v1/ports", "/v1/ports/detail", "/v1/portgroups", "/v1/portgroups/detail"),
    *("/v1/chassis", "/v1/chassis/detail", "/v1/allocations", "/v1/deploy_templates", "/v1/runbooks"),
    *("/v1/volume/connectors", "/v1/volume/targets", "/v1/inspection_rules", "/v1/conductors"),
}


def damage(database: Database) -> list[str]:
    """The findings of ``db check``."""
    return database.snapshot(audit)
