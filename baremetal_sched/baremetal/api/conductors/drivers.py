"""/v1/drivers"""

from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.conductors.conductors import known_names
from baremetal_sched.baremetal.api.resources.query import BaremetalQuery
from baremetal_sched.baremetal.api.resources.view import links
from baremetal_sched.baremetal.conductors import driver_facts
from baremetal_sched.baremetal.conductors.driver_facts import DriverFacts, ServedDriver
from baremetal_sched.errors import InvalidValue, NotFoundError
from baremetal_sched.errors.baremetal import DriverNotFound, RaidNotSupported
from baremetal_sched.machines.interface_types import INTERFACE_TYPES
from baremetal_sched.web.responses import json_response

PROPERTIES_SINCE = 14
DYNAMIC_SINCE = 30
FIELDS_SINCE = 77
#: Interfaces of drivers are shown since 1.30, or since nodes have them if that is later.
_INTERFACES_SINCE = {
    kind: max(since, DYNAMIC_SINCE) if since > 31 else DYNAMIC_SINCE for kind, since in INTERFACE_TYPES.items()
}
_SUMMARY = ("name", "hosts", "links", "properties", "type")
_FIELDS = (
    "hosts",
    "links",
    "name",
    "properties",
    "type",
    *(
        f"{word}_interface{plural}"
        for kind in INTERFACE_TYPES
        for word, plural in ((f"default_{kind}", ""), (f"enabled_{kind}", "s"))
    ),
)


class _UnknownDriver(NotFoundError):
    template = "The driver '{driver}' is unknown."


def list_drivers(call: BaremetalCall, session: Session) -> Response:
    """GET /v1/drivers"""
    query = BaremetalQuery(call, ("type", "detail", "fields"))
    query.require(DYNAMIC_SINCE, "type", "detail")
    kind = query.text("type")
    if kind is not None and kind not in ("dynamic", "classic"):
        raise InvalidValue(message='"type" filter must be one of "classic" or "dynamic", if specified.')
    detail, names = query.flag("detail"), _names(call, query)
    if detail and names:
        raise InvalidValue(message="Can not specify ?detail=True and fields in the same request.")
    unlisted = [name for name in names if name not in _SUMMARY]
    if unlisted:
        raise InvalidValue(message=f'Field(s) "{", ".join(unlisted)}" are not valid')
    fields = _FIELDS if detail else names or _SUMMARY
    drivers = [] if kind == "classic" else driver_facts.list_drivers(session, _timeout(call))
    return json_response({"drivers": [_render(call, driver, fields) for driver in drivers]})


def show_driver(call: BaremetalCall, session: Session, name: str) -> Response:
    """GET /v1/drivers/{name}"""
    names = _names(call, BaremetalQuery(call, ("fields",)))
    driver = driver_facts.find_driver(session, _timeout(call), name)
    return json_response(_render(call, driver, names or _FIELDS))


def show_properties(call: BaremetalCall, session: Session, name: str) -> Response:
    """GET /v1/drivers/{name}/properties"""
    call.refuse_query()
    known = facts_of(call, session, name)
    return json_response(known.facts["properties"] if known else {})


def show_logical_disk_properties(call: BaremetalCall, session: Session, name: str) -> Response:
    """GET /v1/drivers/{name}/raid/logical_disk_properties"""
    call.refuse_query()
    known = facts_of(call, session, name)
    properties = known.logical_disk_properties() if known else {}
    if not properties:
        raise RaidNotSupported(driver=name)
    return json_response(properties)


def facts_of(call: BaremetalCall, session: Session, name: str) -> DriverFacts | None:
    """Return what a live conductor says about the hardware type, if anything.

    Raises NotFoundError unless a live conductor serves it.
    """
    try:
        driver_facts.find_driver(session, _timeout(call), name)
    except DriverNotFound:
        raise _UnknownDriver(driver=name) from None
    return driver_facts.find(session, name, _timeout(call))


def _timeout(call: BaremetalCall) -> float:
    timeout: float = call.settings.conductor.heartbeat_timeout
    return timeout


def _names(call: BaremetalCall, query: BaremetalQuery) -> list[str]:
    if query.has("fields"):
        call.require_version(FIELDS_SINCE)
    return known_names(query, _FIELDS)


def _render(call: BaremetalCall, driver: ServedDriver, fields: Any) -> dict[str, Any]:
    document: dict[str, Any] = {"name": driver.name, "hosts": sorted(driver.hosts)}
    if call.version >= PROPERTIES_SINCE:
        document["properties"] = links(call.base_url, "drivers", driver.name, "properties")
    if call.version >= DYNAMIC_SINCE:
        document["type"] = "dynamic"
    for kind, since in _INTERFACES_SINCE.items():
        if call.version >= since:
            document[f"default_{kind}_interface"] = driver.defaults.get(kind)
            document[f"enabled_{kind}_interfaces"] = sorted(driver.enabled.get(kind, ()))
    document = {name: value for name, value in document.items() if name in fields}
    document["links"] = links(call.base_url, "drivers", driver.name)
    return document
