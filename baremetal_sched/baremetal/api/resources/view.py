"""Rows of this API as JSON: with its links, and secrets masked."""

from functools import lru_cache, partial
from typing import Any

from baremetal_sched.baremetal import node_masking
from baremetal_sched.db.json_rows import uuid_of_parent
from baremetal_sched.db.models import Node
from baremetal_sched.db.types import as_text
from baremetal_sched.documents.fields import FieldKind
from baremetal_sched.documents.json_template import Template
from baremetal_sched.web import view
from baremetal_sched.web.view import ANY, Column, Listing, Resource


def links(base: str, collection: str, ident: str, sub: str = "") -> list[dict[str, str]]:
    """``self`` and ``bookmark`` (without the version) of ``<collection>/<ident>[/<sub>]``."""
    path = f"{collection}/{ident}/{sub}" if sub else f"{collection}/{ident}"
    return [{"href": f"{base}/v1/{path}", "rel": "self"}, {"href": f"{base}/{path}", "rel": "bookmark"}]


#: Since when lists have the parameters ``fields`` and ``detail``.
FIELDS_SINCE = 8
DETAIL_SINCE = 43


#: Make a Listing and a Resource that have these parameters since then.
listing = partial(Listing, fields_since=FIELDS_SINCE, detail_since=DETAIL_SINCE)
resource = partial(Resource, fields_since=FIELDS_SINCE, detail_since=DETAIL_SINCE)


class BaremetalView(view.View):
    """Some ``fields`` of a resource of this API, which has a column ``node_id`` if it shows ``node_uuid``."""

    @classmethod
    def links(cls, resource: Resource, names: tuple[str, ...], base: str) -> Template:
        return _links(resource, names, base)

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        if name == "node_uuid":
            return uuid_of_parent(Node, resource.model.node_id), None
        kind = resource.fields[name].kind
        if kind in (FieldKind.MASKED, FieldKind.STEPS):
            mask = node_masking.mask_text if kind is FieldKind.MASKED else node_masking.mask_steps_text
            return as_text(getattr(resource.model, name).expression), mask
        return super().column(name, resource, version)


@lru_cache(maxsize=512)
def _links(resource: Resource, names: tuple[str, ...], base: str) -> Template:
    """Return the members with links: ``links`` itself and the links to sub-resources, for any key."""
    document: dict[str, Any] = {"links": links(base, resource.path, ANY)}
    for name in names:
        kind = resource.fields[name].kind
        if name != "links" and kind in (FieldKind.LINKS, FieldKind.NESTED_LINKS):
            found = links(base, resource.path, ANY, name)
            document[name] = [found] if kind is FieldKind.NESTED_LINKS else found
    return Template(document, braces=False)


def split_traits(text: str | None) -> list[str]:
    """Traits that the database joined by commas, sorted."""
    return sorted(text.split(",")) if text else []
