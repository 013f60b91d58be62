"""Domains: their members, and the schemas of requests for them."""

from baremetal_sched.baremetal.domains.members import PERSON, PROPERTY
from baremetal_sched.compute.schemas.form import NAME, closed
from baremetal_sched.options.kinds import LEVEL
from baremetal_sched.scheduling.schemas.answers import (
    COUNT,
    LINKS,
    NEXT_PAGE,
    TEXT,
    TEXT_OR_NULL,
    TIME_OR_NULL,
    UUID,
    UUID_OR_NULL,
    Body,
    Member,
    answer,
    array,
    change,
    component,
    fields,
    new,
    said,
)

LEVEL_NAME = said(
    "The kind of domain, such as row, rack or nvlink: any word of up to 64 small letters, digits, _ and -, beginning "
    "with a letter.",
    {**TEXT, "pattern": LEVEL},
)

#: A UUID, or LEVEL:NAME.
DOMAIN_OR_NULL = {**TEXT_OR_NULL, "minLength": 1, "maxLength": 320}

DOMAIN_MEMBERS = (
    Member("uuid", "UUID of the domain, and of the aggregate that it is.", UUID, column=(1, "UUID")),
    Member(
        "name",
        "Its name: up to 255 printable characters, unique within the level.",
        TEXT,
        new=NAME,
        change=NAME,
        required=True,
        column=(3, "Name"),
    ),
    Member("level", LEVEL_NAME["description"], TEXT, new=LEVEL_NAME, required=True, column=(2, "Level")),
    Member(
        "parent",
        "UUID of the domain above it, on another level; null: none. A request may name it by LEVEL:NAME.",
        UUID_OR_NULL,
        new=DOMAIN_OR_NULL,
        change=DOMAIN_OR_NULL,
        column=(4, "Parent"),
    ),
    Member(
        "nodes",
        "The number of its nodes that the caller may see, including those of domains below it.",
        COUNT,
        column=(5, "Nodes"),
    ),
    Member(
        "from_property",
        "The property of nodes that the domain was made from; null: a person made it.",
        TEXT_OR_NULL,
        column=(6, "From Property"),
    ),
    Member("created_at", "When it was made.", TIME_OR_NULL),
    Member("updated_at", "When it was changed last, or a domain was put below it; null: never.", TIME_OR_NULL),
    Member("links", "A link to the domain.", LINKS),
)
NEW_DOMAIN, CHANGED_DOMAIN = new(DOMAIN_MEMBERS), change(DOMAIN_MEMBERS)
FROM_PROPERTY = Body(
    closed(
        {
            "level": LEVEL_NAME,
            "property": said("The name of a property of nodes. Its value is the name of the node's domain.", NAME),
            "marker": said(
                "The marker of the answer before: UUID of the last node that was looked at. By default the request "
                "begins with the first node.",
                UUID,
            ),
        },
        "level",
        "property",
    )
)

DOMAIN = answer(DOMAIN_MEMBERS)
DOMAINS = fields(
    {"domains": said("The domains, by level and name.", array(component("Domain"))), "domains_links": NEXT_PAGE},
    {"domains_links"},
)

_NODE = fields(
    {
        "uuid": said("UUID of the node.", UUID),
        "name": said("Name of the node, or null.", TEXT_OR_NULL),
        "set_by": said(
            "person: a request put this node there. property: the value of a property did.",
            {"enum": [PERSON, PROPERTY]},
        ),
    }
)
DOMAIN_NODES = fields(
    {"nodes": said("The nodes of the domain that the caller may see.", array(_NODE)), "nodes_links": NEXT_PAGE},
    {"nodes_links"},
)

FOLLOWED = fields(
    {
        "created": said("Names of the domains that were made.", array(TEXT)),
        "nodes": said("The number of nodes that were looked at.", COUNT),
        "added": said("How many of them were put into a domain of the level, out of no other.", COUNT),
        "moved": said("How many of them left another domain of the level.", COUNT),
        "kept": said("How many of them a person had put into another domain: they stay there.", COUNT),
        "without": said("How many of them do not have the property: they stay where they are.", COUNT),
        "marker": said("The marker of the next request; null: all nodes have been looked at.", UUID_OR_NULL),
    }
)
