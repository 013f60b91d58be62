"""Each command of the guide to commands, as each kind of caller: a table of exit statuses.

The service is in a thread of the test, and has machines, a claim, holds, domains and a webhook. Each run of a command
begins with the database as it was before.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from subprocess import CompletedProcess
from types import MappingProxyType

import pytest

from tests.functional.compute.test_servers import add_flavor, add_image
from tests.restored import restored
from tests.service import Service
from tests.webhook_tests import sending

ROOT = Path(__file__).parents[2]
LINES = re.findall(r"^    openstack (.*)$", (ROOT / "api-ref/guides/commands.rst").read_text(), re.MULTILINE)
COMMANDS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["openstack.scheduling.v1"]

#: The callers in the order of the statuses, with their role and scope. "project" owns rack1-07, and has the claim, the
#: booking and the webhook that commands name.
CALLERS = {
    "reader": ("reader", "project"),
    "member": ("member", "project"),
    "manager": ("manager", "project"),
    "admin": ("admin", "project"),
    "system-reader": ("reader", "system"),
    "system-member": ("member", "system"),
    "system-admin": ("admin", "system"),
    "service": ("service", "service"),
}

#: Exit statuses by the line of the guide, a digit for each caller.
TABLE: dict[str, str] = {
    line: statuses.replace(" ", "")
    for statuses, line in re.findall(
        r"^([0-3 ]{10})  (\S.*)$", Path(__file__).with_suffix(".txt").read_text(), re.MULTILINE
    )
}

#: Settings of the service that callers use.
SETTINGS = {"events": {"allowed_hosts": "127.0.0.1"}}

#: Done, by whom, before the lines that create nothing.
_PREPARED = (
    ("system-admin", "scheduling domain create nv-1"),
    ("system-admin", "scheduling domain add node"),
    ("admin", "scheduling webhook create"),
)

#: Runs a line as a caller.
Run = Callable[[str, str], CompletedProcess[str]]


def missing() -> set[str]:
    """Return the lines that only the guide or only the table has, and the commands without a line."""
    names = {name.replace("_", " ") for name in COMMANDS}
    return (set(LINES) ^ set(TABLE)) | {name for name in names if not any(_begins(line, name, names) for line in LINES)}


def _begins(line: str, name: str, names: set[str]) -> bool:
    """Return whether the line is one of the command ``name``: no longer name fits."""
    return name == max((each for each in names if f"{line} ".startswith(f"{each} ")), key=len, default=None)


def fill(service: Service, project: str) -> dict[str, str]:
    """Fill a service without authentication; return what to type for the words in capitals. ``project`` is an id."""
    service.add_conductor("c1")
    service.add_conductor("c2", "rack1")
    machines: dict[str, tuple[str | None, tuple[str, ...]]] = {
        "rack1-07": (project, ("CUSTOM_NVME", "HW_CPU_X86_VMX")),
        "rack1-08": (None, ("CUSTOM_NVME", "CUSTOM_A")),
        "rack1-09": ("another", ("CUSTOM_NVME",)),
    }
    shared = {"conductor_group": "rack1", "properties": {"rack": "rack-1"}}
    nodes = {
        name: service.add_node(name, traits=traits, owner=owner, **shared) for name, (owner, traits) in machines.items()
    }
    service.add_node("claimed", resource_class="silver", owner=project)
    post = service.http.post_json
    domains = "/scheduling/v1/domains"
    row = post(domains, {"name": "row-a", "level": "row"}).json["uuid"]
    rack = post(domains, {"name": "rack-1", "level": "rack", "parent": row}).json["uuid"]
    post(domains, {"name": "rack-9", "level": "rack"})
    service.http.put(f"{domains}/{rack}/nodes/{nodes['rack1-07']}")
    times = {"starts_at": "2050-01-01T22:00+01:00", "ends_at": "2050-01-02T04:00+01:00"}
    hold = post("/scheduling/v1/nodes/rack1-07/holds", {"type": "operator_hold", **times}).json["uuid"]
    claim = {"query": "resources=CUSTOM_SILVER:1", "consumer": {"project_id": project}}
    words = {
        "CLAIM": post("/scheduling/v1/claims", claim).json["uuid"],
        "CURSOR": service.http.get("/scheduling/v1/events?after=now").json["cursor"],
        "PROJECT": project,
        "HOLD": hold,
        "NODE": "rack1-07",
        "UUID": nodes["rack1-07"],
    }
    service.add_node("booked", resource_class="silver")
    booking = {"query": "resources=CUSTOM_SILVER:1", "for": 3600, "project_id": project}
    words["BOOKING"] = post("/scheduling/v1/bookings", booking).json["uuid"]
    add_flavor(service, "bm.gold")
    add_image(service, "debian")
    service.work()
    return words


def check(
    service: Service,
    words: Mapping[str, str],
    run: Run,
    subtests: pytest.Subtests,
    differing: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Run each line of the guide as each caller. The statuses are those of the table, or the ``differing`` ones."""
    service.resume_conductor("c1")
    table = {**TABLE, **differing}
    assert set(table) == set(TABLE)
    creating = [line for line in LINES if " create " in line]
    for part in (creating, [line for line in LINES if line not in creating]):
        for line in part:
            with subtests.test(line=line):
                done = {caller: _run(service, words, run, caller, line) for caller in CALLERS}
                found = "".join(str(each.returncode) for each in done.values())
                assert found == table.get(line), {caller: each.stderr for caller, each in done.items()}
        if part is creating:
            for caller, line in _PREPARED:
                (whole,) = (each for each in LINES if each.startswith(line))
                assert run(caller, _typed(whole, words)).returncode == 0


def _run(service: Service, words: Mapping[str, str], run: Run, caller: str, line: str) -> CompletedProcess[str]:
    with restored(service), sending(service) if " webhook test " in line else nullcontext():
        return run(caller, _typed(line, words))


def _typed(line: str, words: Mapping[str, str]) -> str:
    line = re.sub(r"\b([A-Z]+)\b(\.\.\.)?", lambda found: words.get(found[1], found[0]), line)
    line = line.replace("https://hooks.example.com", "http://127.0.0.1:9")  # where nobody listens
    # It goes on until it is interrupted otherwise.
    return f"{line} --count 0" if line.startswith("scheduling event follow") else line
