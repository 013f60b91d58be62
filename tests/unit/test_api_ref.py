"""The API reference says all that the code has: routes, parameters and fields, with the microversion of each."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from marshmallow import Schema

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.allocations import allocations
from baremetal_sched.baremetal.api.allocations import allocations as allocations_api
from baremetal_sched.baremetal.api.conductors import conductors, drivers
from baremetal_sched.baremetal.api.inspection import agents as agents_api
from baremetal_sched.baremetal.api.nodes import node_filters
from baremetal_sched.baremetal.api.resources.query import PAGING
from baremetal_sched.baremetal.api.root import COLLECTIONS as COLLECTIONS_OF_V1
from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.baremetal.inspection import inspection, inspection_rules
from baremetal_sched.baremetal.inspection.hooks.registry import HOOKS, enabled
from baremetal_sched.baremetal.inspection.rules.actions import ACTIONS
from baremetal_sched.baremetal.inspection.rules.operators import OPERATORS
from baremetal_sched.baremetal.inspection.schemas import HEARTBEAT, INSPECTION, RULE_CREATE, RULE_UPDATE
from baremetal_sched.baremetal.network import portgroups, ports, volume
from baremetal_sched.baremetal.nodes import chassis
from baremetal_sched.baremetal.nodes.node_fields import FIELDS, LIST_DEFAULT, STATES
from baremetal_sched.baremetal.provisioning import deploy_templates, runbooks
from baremetal_sched.baremetal.provisioning.validation import VALIDATED
from baremetal_sched.baremetal.schemas.allocations import ALLOCATION_CREATE, ALLOCATION_UPDATE
from baremetal_sched.baremetal.schemas.hardware import (
    BOOT_DEVICE,
    BOOT_MODE,
    CONSOLE,
    INDICATOR,
    SECURE_BOOT,
    VIRTUAL_MEDIA,
)
from baremetal_sched.baremetal.schemas.network import (
    EVENT,
    PORT_CREATE,
    PORT_UPDATE,
    PORTGROUP_CREATE,
    PORTGROUP_UPDATE,
)
from baremetal_sched.baremetal.schemas.nodes import (
    CHASSIS_CREATE,
    CHASSIS_UPDATE,
    MAINTENANCE,
    NODE_CREATE,
    NODE_UPDATE,
    POWER,
)
from baremetal_sched.baremetal.schemas.provisioning.provision import KEYS as PROVISION_KEYS
from baremetal_sched.baremetal.schemas.provisioning.runbooks import (
    RUNBOOK_CREATE,
    RUNBOOK_UPDATE,
    TEMPLATE_CREATE,
    TEMPLATE_UPDATE,
)
from baremetal_sched.baremetal.state_machine import TABLE, VERBS
from baremetal_sched.compute import server_history
from baremetal_sched.compute.api import call, quota_sets, root, server_actions, server_filters
from baremetal_sched.compute.api import flavors as flavors_api
from baremetal_sched.compute.flavors.flavors import SORT_KEYS
from baremetal_sched.compute.schemas import flavors as flavor_forms
from baremetal_sched.compute.schemas import keypairs as keypair_forms
from baremetal_sched.compute.schemas import servers as server_forms
from baremetal_sched.compute.servers import server_rows
from baremetal_sched.db.transaction import Database
from baremetal_sched.documents.fields import Field, FieldKind, Fields
from baremetal_sched.image import filters, listing
from baremetal_sched.image import schemas as image_schemas
from baremetal_sched.image.api.policies import RULES as IMAGE_RULES
from baremetal_sched.machines.states import FAULTS, POWER_TARGETS
from baremetal_sched.placement import query_values
from baremetal_sched.placement.api import root as placement_root
from baremetal_sched.placement.api.errors import CODES, UNDEFINED
from baremetal_sched.placement.provider_parts import INVENTORY_FIELDS
from baremetal_sched.placement.schemas import associations
from baremetal_sched.placement.schemas import inventories as inventory_schemas
from baremetal_sched.placement.schemas import providers as provider_schemas
from baremetal_sched.placement.schemas.allocations import put_schema, reshape_schema
from baremetal_sched.settings import load
from baremetal_sched.web.authentication import make
from baremetal_sched.web.health import RootApi
from tests.reference import (
    API_REF,
    MICROVERSIONS,
    PARAMETERS,
    ROUTES,
    STATUS_LINE,
    Method,
    Page,
    entries,
    page,
    page_of,
    pages,
    shape,
)

#: The lists of what a request may be answered that goes wrong.
ERRORS = re.compile(r"^\.\. rest_status_code:: error status\.yaml\n\n((?:   - .+\n)+)", re.MULTILINE)

#: The first microversion of each API; 0 without any.
FIRST = {api: versions.minimum if versions else 0 for api, versions in MICROVERSIONS.items()}


def method(api: str, resource: str, verb: str, path: str) -> Method:
    return page(api, resource).methods[verb, path]


def assert_since(api: str, name: str, entry: Mapping[str, Any], since: int) -> None:
    """The documented first microversion is the real one; the API's first is not mentioned."""
    versions = MICROVERSIONS[api]
    expected = versions.text(since) if versions and since > FIRST[api] else None
    assert entry.get("min_version") == expected, name


def test_routes(subtests: pytest.Subtests) -> None:
    """Each is in one file, with its first microversion, and none is invented."""
    first: dict[tuple[str, str, str], int] = {}
    for api, route in ROUTES:
        if route.view.__name__ != "refuse_version":
            key = api, route.method, route.path
            first[key] = min(route.since, first.get(key, route.since))
    for api, route in ROUTES:
        with subtests.test(f"{api}: {route.method} {route.path}"):
            described, since = page_of(api, route), first[api, route.method, route.path]
            assert described.mentions(route)
            section = described.section(route)
            if section and since > FIRST[api]:
                assert section.since == since
            assert section is None or len(section.path) == route.path.count("<")
    known = {(api, route.method, shape(route.path)) for api, route in ROUTES}
    assert {(api, *key) for api in FIRST for each in pages(api) for key in each.methods} <= known


def test_the_services_own_paths(tmp_path: Path) -> None:
    settings = load(overrides={"database": {"connection": f"sqlite:///{tmp_path}/unused.sqlite"}})
    described = Page(API_REF / "service.rst")
    assert set(described.methods) == {
        (r.method, r.path) for r in RootApi(settings, make(settings), Database(settings), lambda session: [], ()).routes
    }


def test_all_tables_and_statuses_are_defined() -> None:
    """And where callers log in they may fail too often."""
    asking: list[tuple[Path, list[int]]] = []
    for path in API_REF.rglob("*.rst"):
        text = path.read_text()
        for file, lines in PARAMETERS.findall(text):
            known = entries(path.parent / file)
            assert {line.partition(": ")[2] for line in lines.splitlines()} <= set(known), path
        for code, reason in STATUS_LINE.findall(text):
            statuses = entries(path.parent / "status.yaml")
            assert (reason or "default") in statuses[int(code)], (path, code, reason)
        lists = [[int(code) for code, _ in STATUS_LINE.findall(lines)] for lines in ERRORS.findall(text)]
        asking += [(path, codes) for codes in lists if 401 in codes]
    assert len(asking) > 100
    assert [(path, codes) for path, codes in asking if 429 not in codes or codes != sorted(codes)] == []


def test_bare_metal_says_once_what_every_request_may_be_answered() -> None:
    text = (API_REF / "baremetal" / "index.rst").read_text()
    for status in ("401", "403", "429", "502", "503", "504"):
        assert re.search(rf"^{status}  ", text, re.MULTILINE), status


def test_no_entry_is_left_over(subtests: pytest.Subtests) -> None:
    for name in [*sorted({*FIRST} - {"scheduling"}), "."]:
        with subtests.test(name):
            tables = [lines for each in pages(name) for _, lines in PARAMETERS.findall(each.text)]
            used = {line.partition(": ")[2] for lines in tables for line in lines.splitlines()}
            assert used == set(entries(API_REF / name / "parameters.yaml"))


# -- bare metal --------------------------------------------------------------------------------------------------------


def test_filters_and_fields_of_nodes() -> None:
    for path, own in (("/v1/nodes", {"fields", "detail"}), ("/v1/nodes/detail", set())):
        section = method("baremetal", "nodes", "GET", path)
        wanted = {*(*node_filters.FILTERS, *PAGING), *own}
        assert set(section.query) == wanted, f"the request of GET {path} in api-ref/baremetal/nodes.rst has others"
        for name, each in node_filters.FILTERS.items():
            assert_since("baremetal", name, section.query[name], each.since)
    section = method("baremetal", "nodes", "GET", "/v1/nodes/{}")
    assert set(section.body) == set(FIELDS)
    for name, known in FIELDS.items():
        assert_since("baremetal", name, section.body[name], known.since)


#: File and path of each resource that is a plain collection, its fields, and what POST and PATCH take.
COLLECTIONS: list[tuple[str, str, Fields, Schema, Schema]] = [
    ("allocations", "/v1/allocations", allocations.FIELDS, ALLOCATION_CREATE, ALLOCATION_UPDATE),
    ("chassis", "/v1/chassis", chassis.FIELDS, CHASSIS_CREATE, CHASSIS_UPDATE),
    ("deploy_templates", "/v1/deploy_templates", deploy_templates.FIELDS, TEMPLATE_CREATE, TEMPLATE_UPDATE),
    ("runbooks", "/v1/runbooks", runbooks.FIELDS, RUNBOOK_CREATE, RUNBOOK_UPDATE),
    ("inspection_rules", "/v1/inspection_rules", inspection_rules.FIELDS, RULE_CREATE, RULE_UPDATE),
    ("ports", "/v1/ports", ports.FIELDS, PORT_CREATE, PORT_UPDATE),
    ("portgroups", "/v1/portgroups", portgroups.FIELDS, PORTGROUP_CREATE, PORTGROUP_UPDATE),
    *(
        ("volume", f"/v1/volume/{plural}", kind.fields, kind.create, kind.update)
        for plural, kind in (("connectors", volume.CONNECTORS), ("targets", volume.TARGETS))
    ),
]


def test_collections(subtests: pytest.Subtests) -> None:
    for resource, path, *rest in COLLECTIONS:
        with subtests.test(path):
            _check_collection(resource, path, *rest)


def _check_collection(resource: str, path: str, fields: Fields, create: Schema, update: Schema) -> None:
    one = path + "/{}"
    shown = method("baremetal", resource, "GET", one)
    visible = {name: known for name, known in fields.items() if known.kind is not FieldKind.HIDDEN}
    assert set(shown.body) == set(visible)
    for name, known in visible.items():
        assert_since("baremetal", name, shown.body[name], known.since)
    assert set(shown.query) == {"fields"}
    assert set(method("baremetal", resource, "GET", path).query) >= {*PAGING, "fields"}
    assert set(method("baremetal", resource, "POST", path).body) == set(create.fields)
    changed = set(method("baremetal", resource, "PATCH", one).body) - {"op", "path", "value"}
    assert changed == set(fields.patchable) <= set(update.fields)


#: What bodies of the bare metal API have.
BODIES: list[tuple[str, str, str, Iterable[str]]] = [
    ("nodes", "POST", "/v1/nodes", NODE_CREATE.fields),
    ("nodes", "PATCH", "/v1/nodes/{}", {*NODE_UPDATE.fields, "op", "path", "value"}),
    ("nodes", "PUT", "/v1/nodes/{}/maintenance", MAINTENANCE.fields),
    ("states", "PUT", "/v1/nodes/{}/states/power", POWER.fields),
    ("states", "GET", "/v1/nodes/{}/states", STATES),
    ("states", "PUT", "/v1/nodes/{}/states/console", CONSOLE.fields),
    ("states", "PUT", "/v1/nodes/{}/states/boot_mode", BOOT_MODE.fields),
    ("states", "PUT", "/v1/nodes/{}/states/secure_boot", SECURE_BOOT.fields),
    ("provision", "PUT", "/v1/nodes/{}/states/provision", PROVISION_KEYS),
    ("validation", "GET", "/v1/nodes/{}/validate", VALIDATED),
    ("management", "PUT", "/v1/nodes/{}/management/boot_device", BOOT_DEVICE.fields),
    ("management", "PUT", "/v1/nodes/{}/management/indicators/{}", INDICATOR.fields),
    ("vmedia", "POST", "/v1/nodes/{}/vmedia", VIRTUAL_MEDIA.fields),
    ("bios", "GET", "/v1/nodes/{}/bios/{}", Fields(*bios.SETTING_FIELDS.values(), Field("setting"))),
    ("firmware", "GET", "/v1/nodes/{}/firmware", Fields(*bios.COMPONENT_FIELDS.values(), Field("firmware"))),
    ("agents", "GET", "/v1/lookup", {"node", "config"}),
    ("agents", "POST", "/v1/heartbeat/{}", HEARTBEAT.fields),
    ("agents", "POST", "/v1/continue_inspection", {*INSPECTION.fields, "node", "config", "uuid"}),
    ("events", "POST", "/v1/events", {"events", *EVENT.fields}),
    ("history", "GET", "/v1/nodes/{}/history/{}", history.FIELDS),
    ("inventory", "GET", "/v1/nodes/{}/inventory", inspection.PARTS),
    ("conductors", "GET", "/v1/conductors/{}", conductors._FIELDS),
    ("drivers", "GET", "/v1/drivers/{}", drivers._FIELDS),
]
#: And query strings.
QUERIES: list[tuple[str, str, str, set[str]]] = [
    ("nodes", "GET", "/v1/nodes/{}", {"fields"}),
    ("nodes", "PATCH", "/v1/nodes/{}", {"reset_interfaces"}),
    ("allocations", "GET", "/v1/allocations", {*allocations_api.FILTERS, *PAGING, "fields"}),
    ("chassis", "GET", "/v1/chassis", {*PAGING, "fields", "detail"}),
    ("agents", "GET", "/v1/lookup", {"addresses", "node_uuid"}),
    ("agents", "POST", "/v1/continue_inspection", {"node_uuid"}),
    ("bios", "GET", "/v1/nodes/{}/bios", {"fields", "detail"}),
    ("firmware", "GET", "/v1/nodes/{}/firmware", {"fields", "detail"}),
    ("history", "GET", "/v1/nodes/{}/history", {*PAGING, "detail"}),
    ("conductors", "GET", "/v1/conductors", {*PAGING, "fields", "detail"}),
    ("conductors", "GET", "/v1/conductors/{}", {"fields"}),
    ("drivers", "GET", "/v1/drivers", {"type", "detail", "fields"}),
    ("drivers", "GET", "/v1/drivers/{}", {"fields"}),
]


def test_bodies_and_queries_of_the_bare_metal_api(subtests: pytest.Subtests) -> None:
    for resource, verb, path, expected in BODIES:
        with subtests.test(f"body of {verb} {path}"):
            section = method("baremetal", resource, verb, path)
            assert set(section.body) == set(expected)
            for name, known in expected.items() if isinstance(expected, Fields) else ():
                assert_since("baremetal", name, section.body[name], known.since)
    for resource, verb, path, parameters in QUERIES:
        with subtests.test(f"query of {verb} {path}"):
            assert set(method("baremetal", resource, verb, path).query) == parameters


def test_fields_of_heartbeats_and_interfaces_of_drivers_have_their_microversions() -> None:
    for name, entry in method("baremetal", "agents", "POST", "/v1/heartbeat/{}").body.items():
        assert_since("baremetal", name, entry, agents_api.HEARTBEAT_FIELDS.get(name, 1))
    section = method("baremetal", "drivers", "GET", "/v1/drivers/{}")
    for kind, since in drivers._INTERFACES_SINCE.items():
        for name in (f"default_{kind}_interface", f"enabled_{kind}_interfaces"):
            assert_since("baremetal", name, section.body[name], since)


def test_the_table_of_provision_states() -> None:
    """Every state with what it takes and where that leads, and every verb with its first microversion."""
    text = page("baremetal", "provision").text
    rows = {row[0]: row[1] for row in re.findall(r"^   \* - ``([\w -]+)``\n     - (.+)\n", text, re.MULTILINE)}
    for state, events in TABLE.items():
        for verb, known in VERBS.items():
            if known.event in events and (state, known.event) != ("deleting", "clean"):
                assert re.search(rf"``{verb}``[^→]* → ``{events[known.event]}``", rows[state]), (state, verb)
    assert set(rows) == set(TABLE)
    assert {verb for verb in VERBS if f"``{verb}``" in text} == set(VERBS)
    for verb, since in re.findall(r"^``(\w+)`` +1\.(\d+) ", text, re.MULTILINE):
        assert VERBS[verb].since == int(since)


def test_words_of_the_bare_metal_api() -> None:
    nodes, states = page("baremetal", "nodes").text, method("baremetal", "states", "PUT", "/v1/nodes/{}/states/power")
    for name in LIST_DEFAULT:
        assert f"``{name}``" in nodes
    links = method("baremetal", "root", "GET", "/v1").body["nodes"]["description"]
    assert set(COLLECTIONS_OF_V1) == set(re.findall(r"``(\w+)``", links))
    for target in POWER_TARGETS:
        assert f"``{target}``" in states.body["target"]["description"]
    for fault in FAULTS:
        assert f"``{fault}``" in method("baremetal", "nodes", "GET", "/v1/nodes").query["fault"]["description"]


def test_operators_and_actions_of_inspection_rules() -> None:
    text = page("baremetal", "inspection_rules").text
    for name, signature in (*OPERATORS.items(), *ACTIONS.items()):
        arguments = ", ".join(f"``{argument}``" for argument in (*signature.required, *signature.optional))
        assert f"   * - ``{name}``: {arguments}\n" in text


def test_inspection_hooks() -> None:
    """Each is described, the default ones first."""
    rows = re.findall(r"^   \* - ``([a-z-]+)``\n", page("baremetal", "agents").text, re.MULTILINE)
    assert set(rows) == set(HOOKS)
    assert rows[:4] == [*enabled(load())]


# -- placement ---------------------------------------------------------------------------------------------------------


def test_queries_of_the_placement_api() -> None:
    latest = placement_root.MAXIMUM
    patterns = query_values.candidates_schema(latest)["patternProperties"]
    grouped = {re.sub(r"\W.*", "", pattern.lstrip("^")) for pattern in patterns}
    for resource, path, expected in (
        ("resource_providers", "/resource_providers", set(query_values.providers_schema(latest)["properties"])),
        ("traits", "/traits", set(query_values.TRAITS_SCHEMA["properties"])),
        (
            "allocation_candidates",
            "/allocation_candidates",
            {*query_values.candidates_schema(latest)["properties"], *grouped},
        ),
        ("usages", "/usages", set(query_values.usages_schema(latest)["properties"])),
    ):
        section = method("placement", resource, "GET", path)
        assert set(section.query) == expected
        for name, entry in section.query.items():
            since = int(entry.get("min_version", "1.0").partition(".")[2])
            assert _is_first(resource, name, since), name


def _is_first(resource: str, name: str, since: int) -> bool:
    """Is ``since`` the first microversion whose schema has the parameter (or the first that has the list)?"""
    schemas = {
        "resource_providers": query_values.providers_schema,
        "allocation_candidates": query_values.candidates_schema,
        "usages": query_values.usages_schema,
    }
    if resource not in schemas:
        return since == 0

    def has(version: int) -> bool:
        schema = schemas[resource](version)
        patterns = schema.get("patternProperties", {})
        return name in schema["properties"] or any(re.match(pattern, name) for pattern in patterns)

    return has(since) and (since == 0 or not has(since - 1))


def test_bodies_of_the_placement_api(subtests: pytest.Subtests) -> None:
    for resource, verb, path, schema in (
        ("resource_providers", "POST", "/resource_providers", provider_schemas.create(placement_root.MAXIMUM)),
        ("resource_providers", "PUT", "/resource_providers/{}", provider_schemas.update(placement_root.MAXIMUM)),
        ("inventories", "POST", "/resource_providers/{}/inventories", inventory_schemas.CREATE),
        ("inventories", "PUT", "/resource_providers/{}/inventories", inventory_schemas.REPLACE),
        ("inventories", "PUT", "/resource_providers/{}/inventories/{}", inventory_schemas.UPDATE),
        ("aggregates", "PUT", "/resource_providers/{}/aggregates", associations.AGGREGATES),
        ("traits", "PUT", "/resource_providers/{}/traits", associations.TRAITS),
        ("reshaper", "POST", "/reshaper", reshape_schema(placement_root.MAXIMUM)),
    ):
        with subtests.test(f"{verb} {path}"):
            assert set(schema["properties"]) <= set(method("placement", resource, verb, path).body)


def test_what_a_claim_takes() -> None:
    section = method("placement", "allocations", "PUT", "/allocations/{}")
    latest = put_schema(placement_root.MAXIMUM)
    assert set(section.body) == set(latest["properties"])
    for name in latest["properties"]:
        entry = section.body[name]
        assert entry["required"] == (name in latest["required"]), name
        first = min(
            version for version in range(placement_root.MAXIMUM + 1) if name in put_schema(version)["properties"]
        )
        assert_since("placement", name, entry, first)
    inventory = method("placement", "inventories", "GET", "/resource_providers/{}/inventories/{}")
    assert set(inventory.body) == {*INVENTORY_FIELDS, "resource_provider_generation"}


def test_codes_of_the_placement_api() -> None:
    text = page("placement", "index").text
    for code in (*CODES.values(), UNDEFINED):
        assert f"``{code}``" in text


# -- compute -----------------------------------------------------------------------------------------------------------


def test_bodies_of_the_compute_api(subtests: pytest.Subtests) -> None:
    """Every member of a body is described, with the first microversion that takes it."""
    for resource, verb, path, member, form in (
        ("flavors", "POST", "/v2.1/flavors", "flavor", flavor_forms.create),
        ("flavors", "PUT", "/v2.1/flavors/{}", "flavor", lambda version: flavor_forms.UPDATE),
        ("keypairs", "POST", "/v2.1/os-keypairs", "keypair", keypair_forms.create),
        ("servers", "POST", "/v2.1/servers", "server", server_forms.create),
        ("servers", "PUT", "/v2.1/servers/{}", "server", server_forms.update),
        ("server_actions", "POST", "/v2.1/servers/{}/action", "rebuild", server_forms.rebuild),
    ):
        with subtests.test(f"{verb} {path}"):
            body = method("compute", resource, verb, path).body
            known = {}
            for version in range(root.MINIMUM, root.MAXIMUM + 1):
                for name in form(version).schema["properties"][member]["properties"]:
                    known.setdefault(f"{member}.{name}", version)
            assert known.keys() <= body.keys()
            for name, since in known.items() if verb == "POST" else ():
                assert_since("compute", name, body[name], since)


def test_queries_of_the_compute_api() -> None:
    for path in ("/v2.1/servers", "/v2.1/servers/detail"):
        query = method("compute", "servers", "GET", path).query
        assert set(query) == set(server_filters.PARAMETERS)
        for key in server_rows.SORT_KEYS:
            assert f"``{key}``" in query["sort_key"]["description"]
    for path in ("/v2.1/flavors", "/v2.1/flavors/detail"):
        query = method("compute", "flavors", "GET", path).query
        assert set(query) == set(flavors_api.PARAMETERS)
        for key in SORT_KEYS:
            assert f"``{key}``" in query["sort_key"]["description"]


def test_words_of_the_compute_api() -> None:
    actions = page("compute", "server_actions")
    assert set(server_actions.ACTIONS) <= set(actions.methods["POST", "/v2.1/servers/{}/action"].body)
    for name in server_actions.NOT_HERE:
        assert f"``{name}``" in actions.text
    for name in server_history.EVENTS:
        described = method("compute", "instance_actions", "GET", "/v2.1/servers/{}/os-instance-actions").body["action"]
        assert f"``{name}``" in described["description"]
    text = page("compute", "index").text
    for status, name in (*call.NAMES.items(), ("others", call.FAULT)):
        assert f"   * - {status}\n     - ``{name}``\n" in text
    assert set(method("compute", "flavor_access", "POST", "/v2.1/flavors/{}/action").body) == {
        *flavor_forms.ACTION.schema["properties"],
        "flavor_access",
    }
    for version in {until for until in quota_sets.QUOTAS.values() if until is not None}:
        assert f"2.{version + 1}" in page("compute", "quota_sets").text


# -- images ------------------------------------------------------------------------------------------------------------


def test_fields_of_images() -> None:
    shown = method("image", "images", "GET", "/v2/images/{}")
    assert set(shown.body) == set(image_schemas.PROPERTIES) - {"stores"}
    assert set(method("image", "images", "POST", "/v2/images").body) == {"id", *image_schemas.SETTABLE}
    changed = method("image", "images", "PATCH", "/v2/images/{}")
    assert set(changed.body) == {"op", "path", "value", *image_schemas.SETTABLE}


def test_queries_of_the_list_of_images() -> None:
    described = set(method("image", "images", "GET", "/v2/images").query)
    assert described >= {*listing.PAGING, *listing.SORTING, *filters.FIELDS, *listing.SORTED_BY} - {"size"}


def test_policies_of_the_image_api() -> None:
    of_routes = {route.policy for api, route in ROUTES if api == "image"} - {None}
    of_views = {"publicize_image", "communitize_image", "get_image_location", "context_is_admin"}
    assert of_routes | of_views == {rule.name for rule in IMAGE_RULES}


def test_members_of_images() -> None:
    section = method("image", "members", "GET", "/v2/images/{}/members/{}")
    assert set(section.body) == set(image_schemas.MEMBER["properties"])
