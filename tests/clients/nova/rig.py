"""The service, a nova-compute that has it as its bare metal service and as its Placement, and machines between them."""

import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.processes import Client, Program, Values, environment, serve
from tests.waiting import wait_until

#: How often the conductor compares providers with nodes, in seconds: some time between any two steps of a sequence.
RECONCILIATION = 0.2
SETTINGS = {"conductor": {"sync_providers_interval": RECONCILIATION, "work_interval": 0.02}}

#: The traits that Nova gives the provider of each of its Ironic nodes.
NOVA_TRAITS = frozenset(
    {
        *("COMPUTE_IMAGE_TYPE_AMI", "COMPUTE_IMAGE_TYPE_QCOW2", "COMPUTE_IMAGE_TYPE_RAW"),
        *("COMPUTE_NET_ATTACH_INTERFACE", "COMPUTE_NODE", "OWNER_NOVA"),
    }
)
#: What an answer says, and Nova logs, if Nova must read something again.
CONFLICT = "generation"
_WRITES = ("PUT", "POST", "PATCH", "DELETE")
#: Options of Nova by group: ``ironic`` and ``placement``.
Access = Mapping[str, Mapping[str, str]]


def _lines(options: Mapping[str, str]) -> str:
    return "\n".join(f"{name} = {value}" for name, value in options.items())


class Nova:
    """nova-compute, see ``compute.py``."""

    def __init__(self, python: Path, folder: Path, access: Access) -> None:
        folder.mkdir()
        file = folder / "access.conf"
        file.write_text("".join(f"[{group}]\n{_lines(options)}\n" for group, options in access.items()))
        self._log = (folder / "nova.err").open("w")
        self._process = subprocess.Popen(
            [python, Path(__file__).with_name("compute.py"), folder, file],
            cwd=folder,
            env={**environment(), "HOME": str(folder), "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def ask(self, what: str, *, may_conflict: bool = False, **arguments: Any) -> Any:
        """Let it do something; returns the result. Fails if Nova logs an error, or is answered with one.

        If it ``may_conflict``, Nova may be told that what it has read is old, as long as it gets over that.
        """
        result, exchanges = self.watch(what, may_conflict=may_conflict, **arguments)
        refused = [
            each
            for each in exchanges
            if each[3] >= 400 and not _is_absent(each) and not (may_conflict and each[3] == 409 and CONFLICT in each[4])
        ]
        assert not refused, f"{what}: {refused}"
        return result

    def watch(self, what: str, *, may_conflict: bool = False, **arguments: Any) -> tuple[Any, list[list[Any]]]:
        """The same; returns the exchanges too, whatever they are."""
        answer = self._do(what, arguments)
        errors = [each for each in answer["errors"] if not (may_conflict and CONFLICT in each)]
        assert not errors, f"{what}: {errors}\n{answer['exchanges']}"
        return answer["result"], answer["exchanges"]

    def fail(self, what: str, **arguments: Any) -> str:
        """Let it do something that cannot be done; returns the errors."""
        answer = self._do(what, arguments)
        assert answer["errors"]
        return "\n".join(answer["errors"])

    def _do(self, what: str, arguments: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"do": what, **arguments}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"nova-compute ended: {Path(self._log.name).read_text()}"
        answer: dict[str, Any] = json.loads(line)
        return answer


def _is_absent(exchange: list[Any]) -> bool:
    """A row that Nova removes may be gone already: nodes take their providers and allocations along."""
    method, path, _, status, _ = exchange
    if status != 404:
        return False
    return method == "DELETE" or (method == "GET" and path.startswith("/baremetal/v1/nodes/"))


class Site:
    """The service and Nova, without authentication."""

    #: Of the service.
    settings: Values = SETTINGS

    def __init__(self, python: Path, folder: Path, *options: str) -> None:
        self._python, self._folder, self._options = python, folder, options
        self._serving: Any = None
        self._log = ""
        self.url = self._start("0")
        self.client = self._operator()
        self.nova = Nova(python, folder / "nova", self._access())

    def _operator(self) -> Client:
        """Who runs the machines."""
        return Client(self.url)

    def _access(self) -> Access:
        """How Nova gets at the service."""
        return {
            group: {"auth_type": "none", "endpoint_override": f"{self.url}/{api}"}
            for group, api in (("ironic", "baremetal"), ("placement", "placement"))
        }

    def close(self) -> None:
        """End both."""
        self.nova.close()
        self._serving.__exit__(None, None, None)

    def replace_nova(self) -> None:
        """Another Nova, which knows nothing."""
        self.nova.close()
        self.nova = Nova(self._python, self._folder / f"nova-{uuid4().hex[:8]}", self._access())

    def restart(self) -> None:
        """Stop the service, and start it again at the same address."""
        self.service.end()
        self._log += self.service.log
        self._serving.__exit__(None, None, None)
        assert self._start(self.url.rpartition(":")[2]) == self.url

    @property
    def log(self) -> str:
        """The log of the service, over all its starts."""
        return self._log + self.service.log

    def _start(self, port: str) -> str:
        self._serving = serve(self._folder, "--port", port, *self._options, settings=self.settings)
        self.service: Program
        self.service, url = self._serving.__enter__()
        return url

    def baremetal(self, method: str, path: str, body: Any = None, version: str = "1.115", status: int = 200) -> Any:
        """A request of an operator; returns the document of the answer, which must have this ``status``."""
        response = self.client.baremetal(method, path, body, version)
        assert response.status_code == status, response.text
        return response.json() if response.text else None

    def placement(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """The same to Placement."""
        response = self.client.placement(method, path, body)
        assert response.status_code == status, response.text
        return response.json() if response.text else None


class Machine:
    """A node, what it should be in Nova's eyes, and what befalls it."""

    def __init__(self, site: Site, owner: str | None = None) -> None:
        self.site = site
        self.resource_class = f"bm-{uuid4().hex[:8]}"
        self.traits = {"CUSTOM_NVME"}
        #: May it be given out, as far as what befell it goes?
        self.is_offered = True
        #: Other providers that there are, which Nova knows nothing of.
        self.others: list[str] = []
        #: Who holds it.
        self.server: str | None = None
        body = {"driver": "fake-hardware", "properties": {"cpu_arch": "x86_64", "cpus": 4}}
        self.uuid: str = site.baremetal("POST", "/nodes", body, "1.10", 201)["uuid"]
        self.patch("resource_class", self.resource_class)
        if owner is not None:
            self.patch("owner", owner)
        self.site.baremetal("PUT", f"/nodes/{self.uuid}/traits/CUSTOM_NVME", status=204)
        self.power("power off")

    @property
    def standard_class(self) -> str:
        """Its resource class in Placement."""
        return f"CUSTOM_{self.resource_class}".replace("-", "_").upper()

    def patch(self, field: str, value: Any, status: int = 200) -> None:
        """Change a field."""
        self.site.baremetal(
            "PATCH", f"/nodes/{self.uuid}", [{"op": "add", "path": f"/{field}", "value": value}], status=status
        )

    def power(self, target: str) -> None:
        """Switch it on or off, and wait for that."""
        self.site.baremetal("PUT", f"/nodes/{self.uuid}/states/power", {"target": target}, status=202)
        self.wait_for(power_state=target)

    def provision(self, target: str, state: str) -> None:
        """Ask for a verb, and wait for the state that it leads to."""
        self.site.baremetal("PUT", f"/nodes/{self.uuid}/states/provision", {"target": target}, status=202)
        self.wait_for(provision_state=state)

    def wait_for(self, **values: Any) -> None:
        """Wait until fields have these values and no conductor works on the node."""
        values |= {"reservation": None}
        path = f"/nodes/{self.uuid}?fields={','.join(values)}"

        def has_arrived() -> bool:
            node = self.site.baremetal("GET", path)
            return all(node[field] == value for field, value in values.items())

        wait_until(has_arrived, f"{self.uuid} to be {values}")

    def update(self, *, repeats: bool = False, may_conflict: bool = False) -> None:
        """Nova's periodic task, twice: the second time nothing is left to write, unless Nova ``repeats`` itself."""
        nova = self.site.nova
        nova.ask("update", may_conflict=may_conflict)
        _, exchanges = nova.watch("update")
        writes = [each for each in exchanges if each[0] in _WRITES]
        assert repeats or not writes, f"Nova writes the same again: {writes}"
        assert all(each[3] == 200 or each[1].startswith("/placement/resource_classes/") for each in writes), writes

    def check(self) -> None:
        """Placement and Nova have the node once, with its class, its traits and Nova's; it is offered if it may be."""
        site, place = self.site, f"/resource_providers/{self.uuid}"
        is_free = self.is_offered and self.server is None
        providers = [each["uuid"] for each in site.placement("GET", "/resource_providers")["resource_providers"]]
        assert sorted(providers) == sorted([self.uuid, *self.others])
        assert (
            site.placement("GET", f"/resource_providers?name={self.uuid}")["resource_providers"][0]["uuid"] == self.uuid
        )
        assert site.nova.ask("nodes") == [self.uuid]

        inventories = site.placement("GET", f"{place}/inventories")["inventories"]
        assert list(inventories) == [self.standard_class]
        values = inventories[self.standard_class]
        reserved = values.pop("reserved")
        assert values == {"total": 1, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
        assert reserved == 0 or not is_free
        assert (
            set(site.placement("GET", f"{place}/traits")["traits"]) - {"COMPUTE_STATUS_DISABLED"}
            == self.traits | NOVA_TRAITS
        )

        wanted = {"resource_class": self.standard_class, "traits": sorted(self.traits)}
        assert site.nova.ask("candidates", **wanted) == ([self.uuid] if is_free else [])
        if not is_free:
            self._refuses()
        if self.server is not None:
            assert site.nova.ask("held", server=self.server) == {self.uuid: {self.standard_class: 1}}

    def _refuses(self) -> None:
        """A claim without a search for candidates is refused."""
        if "COMPUTE_STATUS_DISABLED" in self.site.placement("GET", f"/resource_providers/{self.uuid}/traits")["traits"]:
            return  # only Nova cares about that
        body = claim_of(self.uuid, self.standard_class)
        refused = self.site.placement("PUT", f"/allocations/{uuid4()}", body, status=409)
        assert refused["errors"][0]["code"] == "placement.undefined_code"

    def claim(self, traits: Iterable[str] | None = None) -> None:
        """Nova's scheduler gives it to a new server, which needs all its traits if not otherwise said."""
        wanted = {"resource_class": self.standard_class, "traits": sorted(self.traits if traits is None else traits)}
        self.server = self.site.nova.ask("claim", node=self.uuid, **wanted)
        assert self.server is not None

    def build(self) -> None:
        """Nova deploys the server."""
        assert self.site.nova.ask("build", server=self.server, node=self.uuid) == "active"
        node = self.site.baremetal("GET", f"/nodes/{self.uuid}")
        assert (node["provision_state"], node["instance_uuid"]) == ("active", self.server)

    def prepare(self) -> None:
        """Nova takes it for the server, and deploys nothing yet."""
        self.site.nova.ask("prepare", server=self.server, node=self.uuid)
        assert self.site.baremetal("GET", f"/nodes/{self.uuid}")["instance_uuid"] == self.server

    def abandon(self) -> None:
        """Nova gives up the server that is not deployed."""
        self.site.nova.ask("abandon", server=self.server)
        self.server = None
        self.wait_for(provision_state="available", instance_uuid=None)

    def delete(self) -> None:
        """Nova deletes the server, and the node can be had again.

        The node goes on while Nova asks what it is, so Nova may be a little behind.
        """
        self.site.nova.ask("delete", server=self.server, may_conflict=True)
        self.server = None
        self.wait_for(provision_state="available", instance_uuid=None)

    def withdraw(self) -> None:
        """Remove the node; Nova has nothing left of it."""
        self.site.baremetal("DELETE", f"/nodes/{self.uuid}", status=204)
        self.site.nova.ask("update")
        assert self.site.nova.ask("nodes") == []
        assert self.site.placement("GET", "/resource_providers") == {"resource_providers": []}


def claim_of(provider: str, resource_class: str) -> dict[str, Any]:
    """A claim in Placement, of another client than Nova."""
    return {
        "allocations": {provider: {"resources": {resource_class: 1}}},
        "consumer_generation": None,
        "project_id": "project",
        "user_id": "user",
        "consumer_type": "JOB",
    }


@contextmanager
def machine(site: Site, owner: str | None = None) -> Iterator[Machine]:
    """A machine that Nova has not seen yet, and that is gone at the end, whatever became of it."""
    made = Machine(site, owner)
    try:
        yield made
        made.withdraw()
    except BaseException:
        site.client.placement("DELETE", f"/allocations/{made.server}")
        site.client.baremetal("PUT", f"/nodes/{made.uuid}/maintenance")
        site.client.baremetal("PATCH", f"/nodes/{made.uuid}", [{"op": "add", "path": "/instance_uuid", "value": None}])
        site.client.baremetal("DELETE", f"/nodes/{made.uuid}")
        site.replace_nova()
        raise


def let_reconciliation_run() -> None:
    """Wait until the conductor has compared all providers with their nodes."""
    time.sleep(2.5 * RECONCILIATION)
