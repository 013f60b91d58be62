"""Secrets are planted wherever a client can send one, and looked for wherever the service says something.

Every route of every API is asked with them: in headers, in the query string, in the path and in the body. Then logs,
answers, their headers, the history of nodes and the metrics are searched.
"""

import base64
import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import bcrypt
import pytest
from webtest import TestResponse

from baremetal_sched.web.health import METRICS
from tests.reference import ROUTES
from tests.service import Service

pytestmark = pytest.mark.shows_secrets  # lists of images begin with the query; ``Ears`` knows that

#: Nothing else has this in it.
SECRET = "Zy7plantedZy7"
BASIC = base64.b64encode(f"ann:{SECRET}".encode()).decode()
HEADERS = {
    "Authorization": f"Basic {BASIC}",
    "X-Auth-Token": SECRET,
    "X-Service-Token": SECRET,
    "X-Subject-Token": SECRET,
    "Cookie": f"session={SECRET}; token={SECRET}",
    "Proxy-Authorization": f"Bearer {SECRET}",
    "X-Forwarded-Proto": SECRET,
}
#: In a query string: names of secrets, values that have some, and names that are encoded.
QUERY = "&".join(
    (
        *(f"{name}={SECRET}" for name in ("password", "agent_token", "rescue_password", "adminPass", "X-Auth-Token")),
        f"configdrive={SECRET}",
        f"rescue%5Fpassword={SECRET}",
        f"callback_url={quote(f'https://ann:{SECRET}@192.0.2.1/', safe='')}",
        f"note={quote(f'password={SECRET}', safe='')}",
    )
)
IN_PATH = quote(f"https://ann:{SECRET}@192.0.2.1", safe="")
VERSIONS = {
    "baremetal": {"X-OpenStack-Ironic-API-Version": "1.115"},
    "placement": {"OpenStack-API-Version": "placement 1.39"},
    "compute": {"OpenStack-API-Version": "compute 2.100"},
}
#: A document with secrets under every kind of name, and in texts.
DOCUMENT = {
    "password": SECRET,
    "ipmi_password": SECRET,
    "auth_token": SECRET,
    "snmp_community": SECRET,
    "redfish_address": f"https://ann:{SECRET}@192.0.2.1/redfish",
    "kernel_append_params": f"console=ttyS0 password={SECRET}",
    "deeper": [{"private_key": SECRET}],
}
#: The body for every route that takes one: fields of many, all of which may hold a secret.
BODIES: tuple[Any, ...] = (
    {
        **dict.fromkeys(("driver_info", "instance_info", "properties", "extra", "inventory"), DOCUMENT),
        **dict.fromkeys(("rescue_password", "adminPass", "configdrive", "agent_token", "password"), SECRET),
        "callback_url": f"https://ann:{SECRET}@192.0.2.1/",
        "steps": [{"interface": "bios", "step": "apply_configuration", "args": DOCUMENT}],
        "server": {"adminPass": SECRET, "metadata": DOCUMENT},
        "rebuild": {"adminPass": SECRET, "imageRef": f"https://ann:{SECRET}@192.0.2.1/"},
        "rescue": {"adminPass": SECRET},
        "keypair": {"name": "k", "public_key": f"password={SECRET}", "private_key": SECRET},
        "target": "rescue",
    },
    [{"op": "replace", "path": "/driver_info/ipmi_password", "value": SECRET}],
    [{"op": "test", "path": "/driver_info", "value": DOCUMENT}],
    [DOCUMENT],
)


class Ears:
    """The output of the service that may contain a secret: answers, and lines of the log."""

    def __init__(self, lines: io.StringIO) -> None:
        self._lines = lines
        self.answers = 0
        self.found: list[str] = []

    def hear(self, asked: str, answer: TestResponse) -> None:
        """Search an answer, and what was logged since the last one."""
        self.answers += 1
        text = answer.text
        if answer.status_code == 200:
            # As Glance's lists, those of images begin with the query that was sent.
            text = re.sub(r'"first":"[^"]*"', "", text)
        said = {"answer": text, "headers": str(dict(answer.headers)), "log": self._lines.getvalue()}
        self._lines.seek(0)
        self._lines.truncate()
        for where, text in said.items():
            for secret in (SECRET, BASIC):
                if secret in text:
                    start = text.index(secret)
                    self.found.append(f"{asked}: {where}: {text[max(0, start - 120) : start + 40]}")


@pytest.fixture
def ears(lines: io.StringIO) -> Ears:
    return Ears(lines)


def send_everywhere(service: Service, ears: Ears, bodies: tuple[Any, ...]) -> None:
    """A request to every route with each of ``bodies``, and one without; names in a path are secrets too."""
    for (api, route), planted in ((each, planted) for each in ROUTES for planted in ("n1", IN_PATH)):
        path = f"/{api}" + re.sub(r"<[^>]*>", planted, route.path)
        headers = {**HEADERS, **VERSIONS.get(api, {}), "Content-Type": "application/json"}
        writes = route.method in ("POST", "PUT", "PATCH")
        for query in ("", f"?{QUERY}"):
            for body in bodies if writes else (None,):
                content = b"" if body is None else json.dumps(body).encode()
                answer = service.http.request(
                    path + query, method=route.method, headers=headers, body=content, status="*", expect_errors=True
                )
                ears.hear(f"{route.method} {path}{'?…' if query else ''}", answer)


@contextmanager
def running(database_url: str, **options: Any) -> Iterator[Service]:
    with Service(database_url, **options) as service:
        service.add_conductor("c1")
        yield service


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
@pytest.mark.ci
def test_nothing_that_is_said_has_what_was_sent(database_url: str, ears: Ears, level: str) -> None:
    """At the level of debugging, too: libraries say more then."""
    # Before the database is opened: its library looks then.
    logging.getLogger().setLevel(level)
    with running(database_url) as service:
        service.add_node("n1", power=False, driver_info=DOCUMENT, instance_info=DOCUMENT)
        send_everywhere(service, ears, BODIES if level == "INFO" else BODIES[:1])
        service.work()
        ears.hear("metrics", service.http.get(METRICS))
        for path in ("/nodes/detail", "/nodes/n1/history?detail=true", "/nodes/n1/inventory"):
            ears.hear(path, service.baremetal("GET", path, status="*"))
    assert ears.found == []
    assert ears.answers > 2 * len(ROUTES)


def keystone(folder: Path) -> dict[str, dict[str, Any]]:
    """A Keystone that is unavailable: it cannot know the tokens."""
    ours = {"auth_type": "password", "auth_url": "http://127.0.0.1:9/v3", "username": "service", "password": SECRET}
    where = {"project_name": "service", "user_domain_id": "default", "project_domain_id": "default"}
    return {"api": {"auth_strategy": "keystone"}, "keystone_authtoken": ours | where}


def http_basic(folder: Path, password: str) -> dict[str, dict[str, Any]]:
    """One user, ann, with that password."""
    users = folder / "htpasswd"
    users.write_text(f"ann:{bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()}\n")
    users.chmod(0o600)
    return {"api": {"auth_strategy": "http_basic"}, "DEFAULT": {"http_basic_auth_user_file": str(users)}}


#: Settings by strategy, with the status of what is answered then.
STRATEGIES: dict[str, tuple[Callable[[Path], dict[str, dict[str, Any]]], int]] = {
    "keystone": (keystone, 503),
    "a wrong password": (lambda folder: http_basic(folder, "another"), 401),
    "the password": (lambda folder: http_basic(folder, SECRET), 200),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_credentials_are_not_repeated(database_url: str, ears: Ears, tmp_path: Path, strategy: str) -> None:
    options, status = STRATEGIES[strategy]
    with running(database_url, **options(tmp_path)) as service:
        for method, path in (("GET", "/baremetal/v1/nodes"), ("GET", "/placement/traits"), ("GET", "/image/v2/images")):
            answer = service.http.request(path, method=method, headers=HEADERS | VERSIONS["placement"], status="*")
            ears.hear(f"{method} {path}", answer)
            assert answer.status_code == status
        answer = service.http.post_json(f"/baremetal/v1/nodes?{QUERY}", BODIES[0], headers=HEADERS, status="*")
        ears.hear("POST", answer)
        assert answer.status_code >= 400
    assert ears.found == []
