"""As much of Identity (Keystone v3) as a client needs to log in somewhere: it believes everybody."""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import md5
from typing import Any
from uuid import uuid4

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

REGION = "RegionOne"
_DOMAIN = {"id": "default", "name": "Default"}
_PATHS = Map(
    [Rule("/v3", methods=["GET"], endpoint="version"), Rule("/v3/auth/tokens", methods=["POST"], endpoint="log_in")]
)


@contextmanager
def identity(services: dict[str, str]) -> Iterator[str]:
    """Identity on a free port, with a catalogue of ``services`` (URL by type); yields the address to log in at."""
    server = make_server("127.0.0.1", 0, _Identity(services), threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v3"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def cloud(url: str, user: str, **scope: str) -> dict[str, Any]:
    """An entry of clouds.yaml for ``user``, whose tokens are for ``scope``: ``project_name`` or ``system_scope``."""
    domains = {"user_domain_id": "default"} | ({"project_domain_id": "default"} if "project_name" in scope else {})
    auth = {"auth_url": url, "username": user, "password": user, **domains, **scope}
    return {"auth": auth, "region_name": REGION, "identity_api_version": "3"}


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """Who logs in is of no interest."""


class _Identity:
    """The WSGI application."""

    def __init__(self, services: dict[str, str]) -> None:
        self._services = services

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = Request(environ)
        try:
            endpoint, _ = _PATHS.bind_to_environ(environ).match()
            response = getattr(self, f"_{endpoint}")(request)
        except HTTPException as error:
            response = _reply(
                {"error": {"code": error.code, "title": error.name, "message": error.description}}, error.code
            )
        return response(environ, start_response)

    def _version(self, request: Request) -> Response:
        links = [{"rel": "self", "href": f"{request.host_url}v3/"}]
        return _reply({"version": {"id": "v3.14", "status": "stable", "links": links}}, 200)

    def _log_in(self, request: Request) -> Response:
        asked = request.get_json()["auth"]
        name = asked["identity"]["password"]["user"]["name"]
        now = datetime.now(UTC)
        token = {
            "methods": ["password"],
            "user": {"id": _id(name), "name": name, "domain": _DOMAIN},
            "issued_at": _time(now),
            "expires_at": _time(now + timedelta(hours=1)),
            "roles": [{"id": _id(role), "name": role} for role in ("admin", "member", "reader")],
            "catalog": [_service(kind, url) for kind, url in self._services.items()],
            **_scope(asked.get("scope", {})),
        }
        response = _reply({"token": token}, 201)
        response.headers["X-Subject-Token"] = uuid4().hex
        return response


def _scope(asked: dict[str, Any]) -> dict[str, Any]:
    if "project" in asked:
        name = asked["project"]["name"]
        return {"project": {"id": _id(name), "name": name, "domain": _DOMAIN}}
    return {"system": {"all": True}} if "system" in asked else {}


def _service(kind: str, url: str) -> dict[str, Any]:
    endpoint = {"id": _id(url), "interface": "public", "region": REGION, "region_id": REGION, "url": url}
    return {"id": _id(kind), "type": kind, "name": kind, "endpoints": [endpoint]}


def _id(name: str) -> str:
    """Always the same for a name, as Identity writes its ids."""
    return md5(name.encode(), usedforsecurity=False).hexdigest()


def _time(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _reply(document: dict[str, Any], status: int | None) -> Response:
    return Response(json.dumps(document), status=status, mimetype="application/json")
