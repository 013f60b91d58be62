"""The views that most collections have: to list, show, create, change and delete their members."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Response
from marshmallow import Schema
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources import collection
from baremetal_sched.documents.patch import Patch
from baremetal_sched.web import listing
from baremetal_sched.web.listing import whole
from baremetal_sched.web.responses import empty_response, json_response
from baremetal_sched.web.view import Resource

Create = Callable[[BaremetalCall, Session, dict[str, Any]], Any]
Update = Callable[[BaremetalCall, Session, str, Patch], object]
Delete = Callable[[BaremetalCall, Session, str], None]


@dataclass(frozen=True, kw_only=True)
class StandardViews:
    """The views of one collection, for its route table.

    ``parameter``: the name of the path's UUID in messages; ``by_name``: the path may also have a name. ``schema`` loads
    the body of a POST, which messages call ``body_name``. ``do_create`` returns the new row, ``do_update`` and
    ``do_delete`` get the UUID. ``finds_from`` is that of ``load_patch``.
    """

    resource: Resource
    parameter: str
    by_name: bool = False
    schema: Schema
    body_name: str
    do_create: Create
    do_update: Update
    do_delete: Delete
    finds_from: str = "versions"

    def resource_for(self, call: BaremetalCall) -> Resource:
        """Return how the caller sees the members."""
        return self.resource

    def identify(self, call: BaremetalCall, ident: str) -> str:
        """Return ``ident`` of the path if it can name a member. Raises InvalidValue otherwise."""
        return call.ident(ident, self.parameter) if self.by_name else call.uuid(ident, self.parameter)

    def creation_schema(self, call: BaremetalCall) -> Schema:
        """Return what loads the body of a POST at the client's microversion."""
        return self.schema

    def list(self, call: BaremetalCall, session: Session) -> Response:
        """GET /v1/{collection}, and the same in detail"""
        return collection.list_all(call, session, self.resource_for(call))

    def show(self, call: BaremetalCall, session: Session, **path: str) -> Response:
        """GET /v1/{collection}/{ident}"""
        return listing.show(call, session, self.resource_for(call), self._uuid_of(call, session, path))

    def create(self, call: BaremetalCall, session: Session) -> Response:
        """POST /v1/{collection}"""
        values = collection.load_creation(call, self.resource, self.creation_schema(call), self.body_name)
        row = self.do_create(call, session, values)
        session.flush()
        location = f"{call.base_url}/v1/{self.resource.path}/{row.uuid}"
        return json_response(whole(call, self.resource).fetch(session, row.uuid), 201, {"Location": location})

    def update(self, call: BaremetalCall, session: Session, **path: str) -> Response:
        """PATCH /v1/{collection}/{ident}"""
        call.refuse_query()
        find = partial(self._uuid_of, call, session, path)
        operations = collection.load_patch(call, self.resource, find, finds_from=self.finds_from)
        uuid = find()
        self.do_update(call, session, uuid, operations)
        session.flush()
        return json_response(whole(call, self.resource_for(call)).fetch(session, uuid))

    def delete(self, call: BaremetalCall, session: Session, **path: str) -> Response:
        """DELETE /v1/{collection}/{ident}"""
        call.refuse_arguments()
        self.do_delete(call, session, self._uuid_of(call, session, path))
        return empty_response(204)

    def _uuid_of(self, call: BaremetalCall, session: Session, path: Mapping[str, str]) -> str:
        """Return the UUID of the member that the path's parameter names. Raises the resource's ``missing``."""
        (ident,) = path.values()
        return records.uuid_of(session, self.resource.model, self.identify(call, ident), self.resource.missing)
