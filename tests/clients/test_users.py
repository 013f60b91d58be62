"""Users and passwords: ``serve`` off loopback, ``baremetal-sched user``, and the released clients."""

import re
import stat
import subprocess
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bcrypt
import pytest
import requests

from tests.clients.forked import forked_openstack
from tests.clients.openstack import OpenStack, variables_in
from tests.clients.test_start import DEFAULT_FILE, assert_refused
from tests.processes import BAREMETAL_SCHED, GUNICORN, OPEN, Client, environment, free_port, program, run, serve
from tests.waiting import wait_until

ANYWHERE = ("--host", "0.0.0.0")
FILE = "htpasswd"


def local(url: str) -> str:
    """The URL on loopback, of what listens anywhere."""
    return re.sub(r"//.*:", "//127.0.0.1:", url)


def status(url: str, *login: str) -> int:
    """The answer to a list of nodes."""
    answer = requests.get(f"{local(url)}/baremetal/v1/nodes", auth=login or None, timeout=30)  # type: ignore[arg-type]
    return answer.status_code


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The output of ``serve`` off loopback, with its addresses replaced by those of loopback; and the log."""
    folder = tmp_path_factory.mktemp("service")
    with serve(folder, *ANYWHERE) as (running, url):
        yield running.output.replace(url, local(url)), running.log


def test_what_is_printed(printed: tuple[str, str]) -> None:
    """Environment variables with the password, which is printed once; the log has it nowhere, and warns."""
    output, log = printed
    variables = variables_in(output)
    assert variables["OS_AUTH_TYPE"] == "http_basic"
    assert variables["OS_USERNAME"] == "admin"
    assert re.fullmatch(r"[A-Za-z0-9]{32}", variables["OS_PASSWORD"])
    assert {name for name in variables if name.endswith("_OVERRIDE")} == {
        f"OS_{api}_ENDPOINT_OVERRIDE" for api in ("PLACEMENT", "BAREMETAL", "COMPUTE", "IMAGE", "IDENTITY")
    }
    assert "The password is shown only once" in output
    assert variables["OS_PASSWORD"] not in log
    assert "passwords travel in clear text" in log


def test_the_openstack_command(printed: tuple[str, str], tmp_path: Path) -> None:
    """Commands of all four APIs log in with keystoneauth's plugin, with nothing but what was printed."""
    with forked_openstack(tmp_path, variables_in(printed[0])) as openstack:
        openstack("baremetal node create --driver fake-hardware --name n1 --resource-class gold")
        nodes = openstack("baremetal node list -f json")
        providers = openstack("resource provider list -f json")
        openstack("flavor create f1 --vcpus 1 --ram 1 --disk 1 --property resources:CUSTOM_GOLD=1")
        openstack("image create i1 --property image_source=https://images.example.com/i1")
        flavors = openstack("flavor list -f json")
        images = openstack("image list -f json")
        openstack("keypair create k1")
        keys = openstack("keypair list -f json")
        openstack("server create s1 --flavor f1 --image i1")
        servers = openstack("server list -f json")
    assert [names(found) for found in (nodes, providers)] == [["n1"], [uuid_of(nodes)]]
    assert [names(found) for found in (flavors, images, keys, servers)] == [["f1"], ["i1"], ["k1"], ["s1"]]


def names(rows: list[dict[str, str]]) -> list[str]:
    """The column Name, or name, of a list."""
    return [row.get("Name") or row["name"] for row in rows]


def uuid_of(rows: list[dict[str, str]]) -> str:
    (row,) = rows
    return row.get("UUID") or row["uuid"]


def test_clouds_yaml(printed: tuple[str, str], tmp_path: Path) -> None:
    block = re.search(r"^ +clouds:\n(?: +.*\n)+", printed[0], re.MULTILINE)
    assert block
    (tmp_path / "clouds.yaml").write_text(textwrap.dedent(block[0]))
    openstack = OpenStack(tmp_path, {}, "--os-cloud", "baremetal-sched")
    drivers, providers, flavors, images = openstack.batch(
        "baremetal driver list -f json", "resource provider list -f json", "flavor list -f json", "image list -f json"
    )
    assert drivers
    assert all(isinstance(found, list) for found in (providers, flavors, images))


def test_a_wrong_password_is_said(printed: tuple[str, str], tmp_path: Path) -> None:
    openstack = OpenStack(tmp_path, {**variables_in(printed[0]), "OS_PASSWORD": "wrong"})
    for command in ("baremetal node list", "flavor list", "image list"):
        assert "401" in openstack.refused(command)
    # osc-placement does not know the shape that Placement's 401 has.
    assert openstack.refused("resource provider list")


def test_the_file_is_made_once(tmp_path: Path) -> None:
    """A later start uses it, whatever users it has then, and prints no password. A lost one can be replaced."""
    path = tmp_path / FILE
    with serve(tmp_path, *ANYWHERE) as (running, url):
        password = variables_in(running.output)["OS_PASSWORD"]
        assert (status(url), status(url, "admin", password)) == (401, 200)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        before = path.read_text()
        assert password not in before
    with serve(tmp_path, *ANYWHERE) as (running, url):
        assert path.read_text() == before
        assert "OS_PASSWORD" not in variables_in(running.output)
        assert "This sets another: baremetal-sched user add admin\n" in running.output
        assert status(url, "admin", password) == 200
        done = run(tmp_path, "user", "add", "admin", "--generate")
        new = re.search(r"^Password: (\S+)$", done.stdout, re.MULTILINE)
        assert new
        assert (status(url, "admin", password), status(url, "admin", new[1])) == (401, 200)


def test_on_loopback_nobody_is_asked(tmp_path: Path) -> None:
    with serve(tmp_path) as (_, url):
        assert status(url) == 200
    assert not (tmp_path / FILE).exists()


def test_on_loopback_users_may_be_asked_for(tmp_path: Path) -> None:
    with serve(tmp_path, "--auth-strategy", "http_basic") as (running, url):
        assert (status(url), status(url, "admin", variables_in(running.output)["OS_PASSWORD"])) == (401, 200)
        assert "clear text" not in running.log


@pytest.mark.parametrize("insecure", [("--insecure",), ("--insecure", "--auth-strategy", "none"), ()])
def test_insecure(tmp_path: Path, insecure: tuple[str, ...]) -> None:
    """Everyone may do everything, if that is said; each start warns of it."""
    settings = {} if insecure else {"api": {"insecure": True}}
    with serve(tmp_path, *ANYWHERE, *insecure, settings=settings) as (running, url):
        assert status(url) == 200
        assert variables_in(running.output)["OS_AUTH_TYPE"] == "none"
        assert "NO AUTHENTICATION" in running.log
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--auth-strategy", "none"), "0.0.0.0 is not loopback, and with [api] auth_strategy = none everyone"),
        (("--auth-strategy", "noauth"), "0.0.0.0 is not loopback"),
        (("--database", "postgresql://nobody@127.0.0.1:1/none"), "[DEFAULT] http_basic_auth_user_file must name"),
    ],
)
def test_refused(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    """Before anything is made."""
    assert_refused(run(tmp_path, "serve", "--port", "0", *ANYWHERE, *options), words)
    assert not list(tmp_path.glob("*sqlite*"))
    assert not (tmp_path / FILE).exists()


def test_a_file_that_is_not_valid_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("admin:secret\n")
    done = run(tmp_path, "serve", "--port", "0", *ANYWHERE)
    assert_refused(done, f"{FILE} cannot be used: line 1: the password of 'admin' must be hashed with bcrypt")
    assert "secret" not in done.stderr
    assert not (tmp_path / DEFAULT_FILE).exists()


def test_another_database_names_the_file(tmp_path: Path, database_url: str) -> None:
    """It is made there, with roles if there is a file of roles."""
    path, roles = tmp_path / "users", tmp_path / "roles.yaml"
    named = {"http_basic_auth_user_file": path, "http_basic_auth_roles_file": roles}
    with serve(tmp_path, *ANYWHERE, "--database", database_url, settings={"DEFAULT": named}) as (running, url):
        assert status(url, "admin", variables_in(running.output)["OS_PASSWORD"]) == 200
    assert [line.split(":")[0] for line in path.read_text().splitlines()] == ["admin"]
    assert "system_scope: all" in roles.read_text()


# -- baremetal-sched user ---------------------------------------------------------------------------------------------


def user(folder: Path, *arguments: str, entered: str = "", **named: Path) -> subprocess.CompletedProcess[str]:
    """``baremetal-sched user``, with text on its standard input."""
    return subprocess.run(
        [*BAREMETAL_SCHED, "user", *arguments],
        cwd=folder,
        env=environment({"DEFAULT": named}),
        input=entered,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_commands(tmp_path: Path) -> None:
    path = tmp_path / FILE
    added = user(tmp_path, "add", "ann", "--password-stdin", entered="correct horse\n")
    assert (added.returncode, added.stdout) == (0, f"Added ann in {path}.\n"), added.stderr
    assert "horse" not in path.read_text()
    assert bcrypt.checkpw(b"correct horse", path.read_text().strip().partition(":")[2].encode())
    no_terminal = user(tmp_path, "add", "bob", entered="battery\nbattery\n")
    assert (no_terminal.returncode, path.read_text().count("\n")) == (2, 1)
    assert "Give --generate or --password-stdin." in no_terminal.stderr
    assert user(tmp_path, "add", "bob", "--generate").returncode == 0
    assert user(tmp_path, "list").stdout == "ann\nbob\n"
    changed = user(tmp_path, "add", "ann", "--password-stdin", entered="staple\n")
    assert changed.stdout == f"Changed the password of ann in {path}.\n"
    assert user(tmp_path, "remove", "ann").stdout == f"Removed ann from {path}.\n"
    assert user(tmp_path, "list").stdout == "bob\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_commands_with_roles(tmp_path: Path) -> None:
    named = {"http_basic_auth_user_file": tmp_path / "users", "http_basic_auth_roles_file": tmp_path / "roles.yaml"}
    member = ("add", "ann", "--generate", "--role", "member", "--project", "p1")
    assert user(tmp_path, *member, **named).returncode == 0
    assert user(tmp_path, "add", "eve", "--generate", "--role", "reader", "--system", **named).returncode == 0
    bare = user(tmp_path, "add", "bob", "--generate", **named)
    assert "bob has no role" in bare.stderr
    assert user(tmp_path, "list", **named).stdout == (
        "ann: member, reader (project p1)\nbob: no role\neve: reader (the system)\n"
    )
    assert user(tmp_path, "remove", "ann", **named).returncode == 0
    assert "ann" not in (tmp_path / "roles.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "a:b", "--generate"), "'a:b' is not a valid user name"),
        (("add", "ann", "--password-stdin"), "A password must have from 1 to 72 bytes"),
        (("add", "ann", "--password-stdin", "--generate"), "cannot be combined"),
        (("add", "ann", "--generate", "--role", "reader"), "export OS_DEFAULT__HTTP_BASIC_AUTH_ROLES_FILE=roles.yaml"),
        (("add", "ann", "--generate", "--project", "p"), "need a --role"),
        (("add", "ann", "--generate", "--role", "x", "--project", "p", "--system"), "cannot be combined"),
        (("add", "ann", "--generate", "--database", "postgresql://a@b/c"), "http_basic_auth_user_file must name"),
        (("remove", "ann"), "There is no user ann in"),
        (("list",), "There is no file"),
    ],
)
def test_commands_that_are_refused(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = user(tmp_path, *arguments)
    assert done.returncode > 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


# -- gunicorn ---------------------------------------------------------------------------------------------------------


def test_gunicorn_wants_a_strategy(tmp_path: Path) -> None:
    """The message says what to write."""
    with program((*GUNICORN, "--bind", "127.0.0.1:0"), tmp_path, "gunicorn") as running:
        assert running.process.wait(60) != 0
        assert "The settings do not say how callers are authenticated" in running.log
        assert "auth_strategy = http_basic" in running.log
        assert "auth_strategy = none" in running.log
        assert "Traceback" not in running.log


def test_gunicorn_off_loopback(tmp_path: Path) -> None:
    """A request that arrives there is refused without authentication, from this machine too."""
    with serve(tmp_path):
        pass
    port = free_port()
    settings = {**OPEN, "database": {"connection": f"sqlite:///{tmp_path / DEFAULT_FILE}"}}
    url = f"http://127.0.0.1:{port}"
    with program((*GUNICORN, "--bind", f"0.0.0.0:{port}"), tmp_path, "gunicorn", settings) as running:
        wait_until(lambda: "Booting worker" in running.log, "gunicorn to start")
        assert status(url) == 403
        assert "requests are refused" in running.log


def test_guesses_hold_nobody_up(tmp_path: Path) -> None:
    """While one address guesses in eight connections, a client that has logged in is served, and guesses are cut."""
    with serve(tmp_path, "--auth-strategy", "http_basic") as (running, url):
        password = variables_in(running.output)["OS_PASSWORD"]
        assert status(url, "admin", password) == 200
        with ThreadPoolExecutor(8) as pool:
            guesses = [pool.submit(status, url, "admin", f"guess {number}") for number in range(40)]
            with Client(url) as client:
                client._session.auth = ("admin", password)
                served = [client.baremetal("GET", "/nodes").status_code for _ in range(20)]
            outcomes = [guess.result() for guess in guesses]
    assert served == [200] * 20
    assert set(outcomes) <= {401, 429, 503}
    assert 0 < outcomes.count(401) < len(outcomes)
