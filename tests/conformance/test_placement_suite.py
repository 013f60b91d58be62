"""Placement's own test suite against our service.

The YAML files come with the openstack-placement package; nothing else of it is used. Their data is made through our API
(``placement_seeds``).
"""

import copy
import importlib.util
import os
import threading
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from gabbi import handlers, suitemaker
from gabbi.handlers.base import ContentHandler
from werkzeug.serving import make_server

from tests.conformance import placement_seeds as seeds
from tests.conformance.placement_app import make_app

#: CONFORMANCE_HTTP=1: through a real socket instead of calling the application.
OVER_HTTP = os.environ.get("CONFORMANCE_HTTP") == "1"

#: (file, test) -> why it cannot be sent through a socket.
ONLY_IN_PROCESS = {
    ("basic-http.yaml", "bad content length not int"): "no HTTP client sends it, and no HTTP server would pass it on"
}


def _load(file: Path) -> Any:
    return yaml.load(file.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def suite_folder() -> Path:
    """Where the installed package keeps its YAML files."""
    spec = importlib.util.find_spec("placement")
    if spec is None or spec.origin is None:
        raise RuntimeError("the suite is missing: pip install openstack-placement (the extra [test] has it)")
    return Path(spec.origin).parent / "tests" / "functional" / "gabbits"


FILES = sorted(suite_folder().glob("*.yaml"))


def test_the_suite_is_whole() -> None:
    tests = sum(len(_load(file)["tests"]) for file in FILES)
    assert len(FILES) >= 79
    assert tests >= 1316


@pytest.fixture
def clean_environment() -> Iterator[None]:
    """The files read their variables from the environment."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_file(file: Path, database_url: str, tmp_path: Path, clean_environment: None) -> None:
    document = _load(file)
    (fixture,) = document.pop("fixtures", None) or ["APIFixture"]
    flavour, seed = seeds.FIXTURES[fixture]
    app, close = make_app(config_of(flavour, database_url, tmp_path))
    try:
        environment = seeds.common_env()
        transport = httpx.WSGITransport(app=app)
        with httpx.Client(base_url="http://conformance.invalid", transport=transport) as client:
            seed(seeds.World(client, "admin", environment))
        os.environ.update(environment)
        outcome = unittest.TestResult()
        if OVER_HTTP:
            with listening(app) as port:
                suite_of(file, document, port=port).run(outcome)
        else:
            suite_of(file, document, app=app).run(outcome)
    finally:
        close()
    assert outcome.testsRun == len(document["tests"])
    failed = [f"{test}: {trace.splitlines()[-1]}" for test, trace in outcome.failures + outcome.errors]
    assert not failed, "\n".join(failed)


def config_of(flavour: str, database_url: str, folder: Path) -> dict[str, Any]:
    """The options that the runner of ``placement_app`` takes, with the policies of the flavour in a file."""
    config = dict(seeds.FLAVOURS[flavour])
    policy_file = folder / "policy.yaml"
    policy_file.write_text(yaml.safe_dump(config["policy_rules"]))
    return config | {"db_url": database_url, "policy_file": str(policy_file) if config["policy_rules"] else ""}


@contextmanager
def listening(app: Any) -> Iterator[int]:
    """The application behind a real socket; yields the port."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def suite_of(file: Path, document: dict[str, Any], *, app: Any = None, port: int | None = None) -> unittest.TestSuite:
    """The tests of one file, in order, for an application in this process or one that listens on a port."""
    document = copy.deepcopy(document)
    # No certificates are needed, and loading them for every test would take longer than the test.
    document.setdefault("defaults", {})["cert_validate"] = False
    for test in document["tests"]:
        reason = ONLY_IN_PROCESS.get((file.name, test["name"])) if port is not None else None
        if reason:
            test["skip"] = reason
    response_handlers: list[ContentHandler] = [handler() for handler in handlers.RESPONSE_HANDLERS]
    suite: unittest.TestSuite = suitemaker.test_suite_from_dict(
        unittest.defaultTestLoader,
        file.stem,
        document,
        str(file.parent),
        "localhost" if port is None else "127.0.0.1",
        port,
        None,
        None if app is None else lambda: app,
        prefix="",
        handlers=response_handlers,
    )
    return suite
