# tier: first
"""The root, health, and what happens while the database is away."""

from pathlib import Path

import pytest
from sqlalchemy import text

from baremetal_sched.db import schema
from baremetal_sched.errors import DatabaseFull
from tests.service import Service, fault


def test_the_root_points_to_the_apis(service: Service) -> None:
    document = service.http.get("/").json
    assert document["links"]["baremetal"]["href"] == "http://localhost/baremetal"
    assert service.http.get("/nosuch", status=404).json["error"]["status"] == 404
    assert service.http.post("/", status=405).headers["Allow"] == "GET"


def test_ready(service: Service) -> None:
    response = service.http.get("/healthcheck")
    assert response.json == {"live": True, "ready": True, "checks": {"database": "ok", "schema": "ok"}}
    assert response.headers["X-OpenStack-Request-Id"].startswith("req-")
    assert service.http.get("/healthcheck/live").json == {"live": True}


def test_not_ready_with_another_schema(service: Service) -> None:
    def become(revision: str) -> None:
        with service.database.engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})

    become("zzzz")
    try:
        response = service.http.get("/healthcheck", status=503)
    finally:
        become(schema.head())
    assert response.json["checks"] == {"database": "ok", "schema": f"at zzzz, needs {schema.head()}"}
    assert response.headers["Retry-After"]


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def away(request: pytest.FixtureRequest, tmp_path: Path) -> Service:
    """A service whose database is not there: a folder that is missing, a port without a listener."""
    url = {
        "sqlite": f"sqlite:///{tmp_path}/missing/x.sqlite",
        "postgresql": "postgresql://nobody@127.0.0.1:1/x",
        "mariadb": "mariadb://nobody@127.0.0.1:1/x",
    }[request.param]
    with Service(url) as service:
        yield service


def test_a_database_that_is_away_is_503(away: Service) -> None:
    is_file = away.database_url.startswith("sqlite")
    said = "The file that [database] connection names cannot be opened" if is_file else "database cannot be reached"
    for method, path, body in (
        ("GET", "/nodes", None),
        ("GET", "/nodes/n1", None),
        ("POST", "/nodes", {"driver": "fake-hardware"}),
        ("PUT", "/nodes/n1/traits/CUSTOM_A", None),
        ("GET", "/drivers", None),
    ):
        response = away.baremetal(method, path, body, status=503)
        assert said in fault(response)
    response = away.placement("GET", "/resource_providers", status=503)
    assert response.headers["Retry-After"]
    assert said in response.json["errors"][0]["detail"]
    away.claim("aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002", status=503)
    response = away.http.get("/healthcheck", status=503)
    assert response.json["checks"]["database"] == ("file unusable" if is_file else "away")
    away.http.get("/healthcheck/live", status=200)
    away.baremetal("GET", "", status=200)
    away.http.get("/placement/", status=200)


def test_a_database_without_tables_is_503(tmp_path: Path) -> None:
    with Service(f"sqlite:///{tmp_path}/empty.sqlite") as service:
        service.baremetal("GET", "/nodes", status=503)
        service.http.get("/healthcheck", status=503)


def test_it_comes_back_by_itself(service: Service) -> None:
    if not service.database_url.startswith("sqlite"):
        pytest.skip("servers are stopped and started in the fault runs")
    path = Path(service.database_url.removeprefix("sqlite:///"))
    service.database.dispose()
    away = path.rename(path.with_suffix(".away"))
    path.mkdir()
    service.baremetal("GET", "/nodes", status=503)
    path.rmdir()
    away.rename(path)
    service.baremetal("GET", "/nodes", status=200)


def test_connections_that_died_are_renewed(service: Service, database_kind: str) -> None:
    kill = {
        "postgresql": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = :id",
        "mariadb": "KILL :id",
    }.get(service.database.engine.dialect.name)
    own = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT CONNECTION_ID()"}
    if kill is None:
        pytest.skip("there is no connection to lose")
    service.baremetal("GET", "/nodes", status=200)
    with service.database.engine.connect() as connection:
        victim = connection.scalar(text(own[service.database.engine.dialect.name]))
    with Service(service.database_url) as other:
        other.database.write(lambda session: session.execute(text(kill.replace(":id", str(victim)))))
    service.baremetal("POST", "/nodes", {"driver": "fake-hardware"}, status=201)


def test_the_first_write_that_succeeds_ends_a_full_disk(service: Service) -> None:
    service.database.writes.failed(DatabaseFull())
    assert service.http.get("/healthcheck", status=503).json["checks"]["database"] == "full"
    service.add_node("n1")
    service.http.get("/healthcheck", status=200)
