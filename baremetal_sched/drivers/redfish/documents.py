"""Answers of a controller, as JSON without guarantees: read with care, and written for steps."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from sushy import exceptions
from sushy.resources.system.system import System

from baremetal_sched.drivers import progress
from baremetal_sched.drivers.redfish import connection
from baremetal_sched.drivers.redfish.driver_info import RedfishTarget
from baremetal_sched.machines.machine import Machine

Document = Mapping[str, Any]

#: The most members of a collection, or links of a list, that are followed.
_MOST_MEMBERS = 256
#: The longest text that is kept, in characters, as columns hold no more.
LONGEST_TEXT = 255


@dataclass(frozen=True)
class Answer:
    """The answer to a request: its status, its document, the path in its ``Location`` header, and its ``ETag``."""

    status: int
    document: Document
    location: str | None
    etag: str | None = None


class Documents:
    """Reads and writes documents of the controller of ``system``.

    ``of_system`` is the document of the machine itself, ``root`` the path of the Redfish service.
    """

    def __init__(self, system: System, root: str) -> None:
        self._connector = system._conn
        self.root = root
        self.of_system: Document = system.json if isinstance(system.json, dict) else {}

    def get(self, path: str) -> Document:
        """Return the resource at a path. Raises sushy's errors."""
        return self.ask(path).document

    def ask(self, path: str) -> Answer:
        """Like ``get``, with the status."""
        progress.note()
        return _answer(self._connector.get(path))

    def find(self, path: str | None) -> Document | None:
        """Return the resource at a path; None if the path is None, or the controller does not have the resource.

        Controllers answer with 404, 400, 405 or 501 for resources that they do not support, or not at the moment.
        """
        if path is None:
            return None
        try:
            return self.get(path)
        except exceptions.HTTPError as error:
            if error.status_code in (400, 404, 405, 501):
                return None
            raise

    def members(self, collection: Document | None, name: str = "Members") -> Iterator[Document]:
        """Read the existing members of a collection, or of another list of links, one after the other.

        Each may be large: keep fields of it, and not the document.
        """
        for path in links(collection, name)[:_MOST_MEMBERS]:
            found = self.find(path)
            if found is not None:
                yield found

    def patch(self, path: str, body: Document, etag: str | None = None) -> Answer:
        """Change a resource, whose version is ``etag``. Raises sushy's errors.

        A controller that wants to see the current version (428), or another one than ``etag`` (412), is shown that of
        the resource, once; any version if the resource has none.
        """
        progress.note()
        try:
            return _answer(self._connector.patch(path, data=dict(body), etag=etag))
        except exceptions.HTTPError as error:
            if error.status_code not in (HTTPStatus.PRECONDITION_FAILED, HTTPStatus.PRECONDITION_REQUIRED):
                raise
        current = self.ask(path)
        version = current.etag or text(current.document.get("@odata.etag")) or "*"
        progress.note()
        return _answer(self._connector.patch(path, data=dict(body), headers={"If-Match": version}))

    def post(self, path: str, body: Document) -> Answer:
        """Call an action. Raises sushy's errors."""
        progress.note()
        return _answer(self._connector.post(path, data=dict(body)))


@contextmanager
def documents_of(machine: Machine) -> Iterator[Documents]:
    """Provide the documents of the controller of ``machine``; see ``connection.system`` for the errors."""
    with connection.system(machine) as system:
        yield Documents(system, RedfishTarget.of(machine).root)


def link(document: Document | None, *names: str) -> str | None:
    """Return the path that the link at ``names`` in the document leads to, or None."""
    return _path(member(document, *names, "@odata.id"))


def links(document: Document | None, *names: str) -> list[str]:
    """Return the paths of a list of links."""
    paths = (link(each) for each in objects(member(document, *names)))
    return [path for path in paths if path is not None]


def member(document: Document | None, *names: str) -> Any:
    """Return the value at ``names`` in the document, or None."""
    found: Any = document
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; empty if the value is not a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text(value: Any) -> str | None:
    """Return a text without blanks around it, cut if it is too long; None if it is empty or not a text."""
    if not isinstance(value, str):
        return None
    plain = "".join(letter for letter in value[: 2 * LONGEST_TEXT] if letter.isprintable())
    return plain.strip()[:LONGEST_TEXT] or None


def count(value: Any) -> int | None:
    """Return a count, which may be given as a text or with a fraction; None if it is not a number or too large."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**62:
        return None
    return int(value)


def _path(value: Any) -> str | None:
    """Return a path in this controller, never a URL of another host: requests carry the token of the session."""
    if not isinstance(value, str) or not 0 < len(value) <= 2048:
        return None
    try:
        url = urlsplit(value)
    except ValueError:
        return None
    path = f"{url.path}?{url.query}" if url.query else url.path
    return path if path.startswith("/") and not path.startswith("//") and path.isprintable() else None


def _answer(response: Any) -> Answer:
    try:
        document = response.json() if response.content else {}
    except (ValueError, RecursionError):  # what requests raises for the former is one of its own, of connections
        raise ValueError("no JSON, or too deep") from None
    found = document if isinstance(document, dict) else {}
    headers = response.headers
    return Answer(response.status_code, found, _path(headers.get("Location")), text(headers.get("ETag")))
