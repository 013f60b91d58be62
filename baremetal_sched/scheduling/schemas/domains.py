"""Schemas of requests for domains, and of domains."""

from typing import Any

from baremetal_sched.baremetal.domains.members import PERSON, PROPERTY
from baremetal_sched.compute.schemas.form import NAME, Form, closed
from baremetal_sched.options.kinds import LEVEL
from baremetal_sched.scheduling.schemas.answers import (
    COUNT,
    TEXT,
    TEXT_OR_NULL,
    UUID,
    UUID_OR_NULL,
    array,
    component,
    fields,
    said,
)

LEVEL_NAME: dict[str, Any] = said("The kind of domain, such as row, rack or nvlink.", {**TEXT, "pattern": LEVEL})
_NAME = said("Unique within the level.", NAME)
_PARENT = said("UUID of the domain above it, of another level; null: none.", UUID_OR_NULL)

NEW_DOMAIN = Form(closed({"name": _NAME, "level": LEVEL_NAME, "parent": _PARENT}, "name", "level"))
CHANGED_DOMAIN = Form({**closed({"name": _NAME, "parent": _PARENT}), "minProperties": 1})
FROM_PROPERTY = Form(
    closed(
        {
            "level": LEVEL_NAME,
            "property": said("The name of a property of nodes, whose value is the name of a domain.", NAME),
            "marker": said("UUID of the last node that was looked at. By default it begins with the first.", UUID),
        },
        "level",
        "property",
    )
)

_TIME = {**TEXT_OR_NULL, "format": "date-time"}
_LINKS = array(fields({"rel": TEXT, "href": said("An absolute URL.", {**TEXT, "format": "uri"})}))

DOMAIN = fields(
    {
        "uuid": said("Its aggregate has the same.", UUID),
        "name": TEXT,
        "level": TEXT,
        "parent": said("UUID of the domain above it, or null.", UUID_OR_NULL),
        "from_property": said("The property of nodes that it was made from, or null.", TEXT_OR_NULL),
        "nodes": said(
            "The number of its nodes that the caller may see; those of domains below it are among them.", COUNT
        ),
        "created_at": _TIME,
        "updated_at": _TIME,
        "links": _LINKS,
    }
)
DOMAINS = fields({"domains": array(component("Domain")), "domains_links": _LINKS}, {"domains_links"})

_MEMBER = fields(
    {
        "uuid": UUID,
        "name": TEXT_OR_NULL,
        "set_by": said("Who put the node there.", {"enum": [PERSON, PROPERTY]}),
    }
)
DOMAIN_NODES = fields({"nodes": array(_MEMBER), "nodes_links": _LINKS}, {"nodes_links"})

FOLLOWED = fields(
    {
        "created": said("Names of the domains that were made.", array(TEXT)),
        "nodes": said("The number of nodes that the request looked at.", COUNT),
        "added": said("How many of them were put into a domain of the level.", COUNT),
        "moved": said("How many left another domain for it.", COUNT),
        "kept": said("How many a person had put elsewhere, where they stay.", COUNT),
        "without": said("How many do not have the property, and stay where they are.", COUNT),
        "marker": said("What the next request needs to continue; null: all nodes were looked at.", UUID_OR_NULL),
    }
)
