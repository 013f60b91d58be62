"""The alert rules and the dashboard of the guide, in Debian's Prometheus that scrapes a served process."""

import json
import re
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from tests.processes import Client, free_port, program, serve
from tests.waiting import wait_until

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
GUIDES = Path(__file__).parents[2] / "api-ref/guides"
DASHBOARD = json.loads((GUIDES / "samples/grafana-dashboard.json").read_text())
JOB = "baremetal-sched"

#: Queries about what there is none of here: nothing failed, no conductor gave a call up, all machines are offered.
MAY_BE_EMPTY = ("5..", "50", "given_up", "undone", "not_offered", ".* failed|error", "pending_work", "unavailable")

needs_prometheus = pytest.mark.skipif(PROMETHEUS is None or PROMTOOL is None, reason="prometheus is not installed")


def rules() -> str:
    """The file of alert rules, as the guide shows it."""
    text = (GUIDES / "watching.rst").read_text().partition(".. code-block:: yaml\n\n")[2]
    return textwrap.dedent(re.match(r"(?: {3}.*\n|\n)+", text)[0])  # type: ignore[index]


def queries() -> dict[str, str]:
    """Every query of the rules and of the dashboard, by where it is."""
    found = {rule["alert"]: rule["expr"] for group in yaml.safe_load(rules())["groups"] for rule in group["rules"]}
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            found[f"{panel['title']} {target['refId']}"] = target["expr"].replace("$job", JOB)
    return found


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus with the rules, which has scraped a service with a machine twice."""
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "service").mkdir()
    with serve(folder / "service") as (_, url), Client(url) as client:
        assert client.baremetal("POST", "/nodes", {"driver": "fake-hardware", "resource_class": "gold"}).ok
        assert client.placement("GET", "/resource_providers").ok
        (folder / "rules.yml").write_text(rules())
        scraped = {"job_name": JOB, "static_configs": [{"targets": [url.removeprefix("http://")]}]}
        config = {"global": {"scrape_interval": "1s"}, "rule_files": ["rules.yml"], "scrape_configs": [scraped]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        with running(folder) as address:
            wait_until(lambda: value(address, f"sum(count_over_time(up[1m])) >= 3 and max({DATABASE_UP})"), "scrapes")
            yield address


DATABASE_UP = "baremetal_sched_database_up"


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """Prometheus, with the file ``prometheus.yml`` of the folder; yields its address."""
    address = f"127.0.0.1:{free_port()}"
    options = ("--config.file=prometheus.yml", "--storage.tsdb.path=data", f"--web.listen-address={address}")
    with program((str(PROMETHEUS), *options), folder, "prometheus"):
        yield f"http://{address}"


def asked(address: str, query: str) -> Any:
    """The answer to a query; {} until Prometheus is ready."""
    try:
        answer = requests.get(f"{address}/api/v1/query", {"query": query}, timeout=10)
    except requests.ConnectionError:
        return {}
    return {} if answer.status_code == 503 else answer.json()


def value(address: str, query: str) -> Any:
    """The result of a query."""
    return asked(address, query).get("data", {}).get("result")


@needs_prometheus
def test_each_query_is_answered(prometheus: str) -> None:
    for where, query in queries().items():
        answer = asked(prometheus, query)
        assert answer["status"] == "success", (where, answer)
        is_alert = where.startswith("Baremetal")
        if not is_alert and not any(part in query for part in MAY_BE_EMPTY):
            assert answer["data"]["result"], (where, query)


@needs_prometheus
def test_the_rules_are_loaded(prometheus: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(rules())
    subprocess.run([str(PROMTOOL), "check", "rules", "--lint-fatal", tmp_path / "rules.yml"], check=True)
    groups = requests.get(f"{prometheus}/api/v1/rules", timeout=10).json()["data"]["groups"]
    assert [rule["health"] for group in groups for rule in group["rules"] if rule["health"] == "err"] == []
    assert sum(len(group["rules"]) for group in groups) == rules().count("- alert:")


def test_every_metric_of_the_guide_is_on_the_dashboard() -> None:
    guide = (GUIDES / "watching.rst").read_text()
    metrics = set(re.findall(r"^``(baremetal_sched_\w+)``", guide, re.MULTILINE))
    shown = " ".join(queries()[where] for where in queries() if not where.startswith("Baremetal"))
    assert metrics
    assert {name for name in metrics if name not in shown} == set()
