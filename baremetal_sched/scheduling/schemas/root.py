"""What the version document says."""

from baremetal_sched.scheduling.schemas.answers import TEXT, array, fields, said

_LINK = fields(
    {"rel": TEXT, "href": said("An absolute URL.", {"type": "string", "format": "uri"}), "type": TEXT}, {"type"}
)

VERSIONS = fields({"versions": array(fields({"id": TEXT, "status": TEXT, "links": array(_LINK)}))})
