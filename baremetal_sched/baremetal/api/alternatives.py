"""Other addresses of the routes, as Ironic's routing has them.

Ironic takes what names a node from the path, the query string or the body, and some arguments from the path too:
``PUT /v1/nodes/{node}/states/power`` is also ``PUT /v1/nodes/states/power/{node}``, ``PUT /v1/nodes/states/power`` with
``node_ident`` in the query string or the body, and ``PUT /v1/nodes/{node}/states/power/{target}``.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any
from wsgiref.types import WSGIEnvironment

from flask import Response

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.route import BaremetalRoute
from baremetal_sched.baremetal.api.versions import HEADER
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.route import View

#: A controller that Ironic has below all nodes, and the rest of the path; not parts that are refused anywhere.
_BELOW_NODES = re.compile(
    r"(?!.*/target_raid_config)/v1/nodes/<ident>/(maintenance|vendor_passthru|states(?:/\w+)?|management/\w+)(/(?:\w+|<\w+>))?"
)
_BELOW_DRIVERS = re.compile(r"/v1/drivers/<name>/(raid|vendor_passthru)(/(?:\w+|<\w+>))")
#: Where the body is data of its own, in which nothing names a node.
_BODY_IS_DATA = re.compile(r"/(vendor_passthru|states/raid)(/|$)")
#: The argument that may follow in the path.
_IN_PATH = {
    "maintenance": "reason",
    "states/power": "target",
    "states/provision": "target",
    "states/console": "enabled",
    "states/boot_mode": "target",
    "states/secure_boot": "target",
    "management/boot_device": "boot_device",
}
#: What changes or removes one thing, and the argument that names the thing at the address of its collection.
_NAMED = (
    ("/v1/nodes/<ident>", "node_ident", ("PATCH", "DELETE")),
    ("/v1/nodes/<ident>/vifs/<vif>", "vif_id", ("DELETE",)),
    ("/v1/ports/<ident>", "port_ident", ("PATCH",)),
    ("/v1/ports/<ident>", "port_uuid", ("DELETE",)),
    ("/v1/portgroups/<ident>", "portgroup_ident", ("PATCH", "DELETE")),
    ("/v1/volume/connectors/<uuid>", "connector_uuid", ("PATCH", "DELETE")),
    ("/v1/volume/targets/<uuid>", "target_uuid", ("PATCH", "DELETE")),
    ("/v1/chassis/<uuid>", "chassis_uuid", ("PATCH", "DELETE")),
    ("/v1/allocations/<ident>", "allocation_ident", ("PATCH", "DELETE")),
    ("/v1/deploy_templates/<ident>", "template_ident", ("PATCH", "DELETE")),
    ("/v1/runbooks/<ident>", "runbook_ident", ("PATCH", "DELETE")),
    # DELETE of the collection removes all rules.
    ("/v1/inspection_rules/<uuid>", "inspection_rule_uuid", ("PATCH",)),
    ("/v1/heartbeat/<ident>", "node_ident", ("POST",)),
)
_ARGUMENTS = {(method, path): argument for path, argument, methods in _NAMED for method in methods}


def alternatives(routes: Iterable[BaremetalRoute]) -> Iterator[BaremetalRoute]:
    """Return the routes at the other addresses of ``routes``."""
    for route in routes:
        if argument := _ARGUMENTS.get((route.method, route.path)):
            collection, _, parameter = route.path.rpartition("/")
            view = named(parameter.strip("<>"), argument, route.view)
            # Agents name the node in the path: to Ironic, a heartbeat at this address is not public.
            yield replace(route, path=collection, view=view, ident_is_argument=True, public=False)
        elif match := _BELOW_NODES.fullmatch(route.path):
            yield from _of_node(route, match[1], match[2] or "")
        elif match := _BELOW_DRIVERS.fullmatch(route.path):
            yield replace(route, path=f"/v1/drivers/{match[1]}/<name>{match[2]}")
            if "<" not in match[2]:
                yield _of_driver(route, f"{match[1]}{match[2]}")
        elif route.path == "/v1/drivers/<name>/properties":
            yield _of_driver(route, "properties")


def _of_driver(route: BaremetalRoute, rest: str) -> BaremetalRoute:
    """Return the route at an address whose query string names the driver."""
    return replace(route, path=f"/v1/drivers/{rest}", view=named("name", "driver_name", route.view, in_body=False))


def _of_node(route: BaremetalRoute, controller: str, rest: str) -> Iterator[BaremetalRoute]:
    moved = [replace(route, path=f"/v1/nodes/{controller}/<ident>{rest}")]
    if controller == "states/console":
        moved.append(replace(route, path="/v1/nodes/states/<ident>/console"))
    yield from moved
    if "<" not in rest:
        in_body = not _BODY_IS_DATA.search(route.path)
        view = named("ident", "node_ident", route.view, in_body=in_body)
        yield replace(route, path=f"/v1/nodes/{controller}{rest}", view=view)
    if route.method == "PUT" and not rest and controller in _IN_PATH:
        for address in (route, *moved):
            yield replace(address, path=f"{address.path}/<argument>", view=_argument(_IN_PATH[controller], route.view))


def named(parameter: str, argument: str, view: View, *, in_body: bool = True) -> View:
    """Return ``view`` for an address that lacks its path parameter: its value is ``argument`` of the request.

    The view raises InvalidValue if neither the query string nor (with ``in_body``) the body has the argument.
    """

    def named_view(call: BaremetalCall, session: Any, **path: str) -> Response:
        value = call.take(argument, in_body=in_body)
        if value is None:
            raise InvalidValue(message=f"Missing mandatory parameter: {argument}")
        return view(call, session, **{parameter: value}, **path)

    return named_view


def _argument(name: str, view: View) -> View:
    """Return ``view`` for an address that ends in the value of the argument ``name``."""

    def view_with_argument(call: BaremetalCall, session: Any, argument: str, **path: str) -> Response:
        call.path_arguments = {name: argument}
        return view(call, session, **path)

    return view_with_argument


#: Key of the WSGI environment: a ``.json`` was taken off the path.
STRIPPED = "baremetal_sched.stripped_json"

#: From here on a path is taken literally.
_LITERAL_SINCE = 91
#: More digits than the minor part of a microversion has; Python refuses to convert thousands of them.
_MOST_DIGITS = 100


def rewrite(environ: WSGIEnvironment) -> None:
    """Bring PATH_INFO into the form of the route table: ``/v1/…`` without a slash or ``.json`` at the end."""
    path: str = environ.get("PATH_INFO", "")
    if path in ("", "/"):
        return
    if path != "/v1" and not path.startswith(("/v1/", "/v2")):
        path = "/v1" + path
    if path.endswith("/"):
        path = path[:-1]
    if path.endswith(".json") and not _is_literal(environ):
        path = path.removesuffix(".json")
        environ[STRIPPED] = True
    environ["PATH_INFO"] = path


def _is_literal(environ: WSGIEnvironment) -> bool:
    """Only Ironic's own header is looked at, and without one the path is literal (as Ironic has it)."""
    header = environ.get("HTTP_" + HEADER.upper().replace("-", "_"), "").strip()
    _, _, minor = header.partition(".")
    return not minor.isdecimal() or len(minor) > _MOST_DIGITS or int(minor) >= _LITERAL_SINCE
