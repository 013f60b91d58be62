"""Fills the database of a Placement through its API: ``PYTHON fill_placement.py URL``, with a Python that has it.

It makes the requests that Nova's report client makes for nodes of Ironic; and providers of others. With ``answer``
after the URL it fills nothing, and answers requests: see ``in_process``.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
sys.path.insert(0, str(Path(__file__).parent))

import in_process  # noqa: E402
import moving_nodes as nodes  # noqa: E402

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
ONE = {"total": 1, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}


def application(url: str) -> Any:
    """Placement's application over a database, whose schema is made if need be."""
    from oslo_config import cfg
    from oslo_policy import opts as policy_opts
    from placement import conf, db_api, deploy
    from placement.db.sqlalchemy import migration

    settings = cfg.ConfigOpts()
    conf.register_opts(settings)
    policy_opts.set_defaults(settings)
    settings.set_override("connection", url, group="placement_database")
    settings([], default_config_files=[])
    settings.set_override("auth_strategy", "noauth2", group="api")
    settings.set_override("policy_file", "/nonexistent/policy.yaml", group="oslo_policy")
    db_api.configure(settings)
    migration.upgrade("head")
    return deploy.loadapp(settings)


class Client:
    """Requests to the application in this process."""

    def __init__(self, url: str) -> None:
        self._app = application(url)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Make a request, and return the document of the answer, which must succeed."""
        status, answer = in_process.ask(self._app, method, path, HEADERS, body)
        assert status < 300, (method, path, status, answer)
        return answer


def inventories(client: Client, uuid: str, stocks: dict[str, Any]) -> None:
    """Replace the inventories of a provider."""
    generation = client.ask("GET", f"/resource_providers/{uuid}")["generation"]
    body = {"resource_provider_generation": generation, "inventories": stocks}
    client.ask("PUT", f"/resource_providers/{uuid}/inventories", body)


def traits(client: Client, uuid: str, names: list[str]) -> None:
    """Replace the traits of a provider."""
    generation = client.ask("GET", f"/resource_providers/{uuid}")["generation"]
    client.ask(
        "PUT", f"/resource_providers/{uuid}/traits", {"resource_provider_generation": generation, "traits": names}
    )


def aggregates(client: Client, uuid: str, names: list[str]) -> None:
    """Replace the aggregates of a provider."""
    generation = client.ask("GET", f"/resource_providers/{uuid}")["generation"]
    body = {"resource_provider_generation": generation, "aggregates": names}
    client.ask("PUT", f"/resource_providers/{uuid}/aggregates", body)


def claim(client: Client, consumer: str, allocations: dict[str, Any], kind: str = "INSTANCE") -> None:
    """Claim for a new consumer."""
    body = {
        "allocations": {uuid: {"resources": amounts} for uuid, amounts in allocations.items()},
        "project_id": "project-1",
        "user_id": "user-1",
        "consumer_generation": None,
        "consumer_type": kind,
    }
    client.ask("PUT", f"/allocations/{consumer}", body)


def fill_node(client: Client, number: int) -> None:
    """The provider of a node, as Nova makes it."""
    uuid, own = nodes.name_of("node", number), "CUSTOM_" + nodes.class_of(number).upper().replace(".", "_")
    client.ask("POST", "/resource_providers", {"name": uuid, "uuid": uuid})
    client.ask("PUT", f"/resource_classes/{own}")
    inventories(client, uuid, {own: {**ONE, "reserved": 0}})
    for name in nodes.traits_of(number):
        if name.startswith("CUSTOM_"):
            client.ask("PUT", f"/traits/{name}")
    traits(client, uuid, [*nodes.traits_of(number), "COMPUTE_NODE", "OWNER_NOVA"])
    if number % 3 == 0:
        aggregates(client, uuid, [nodes.name_of("aggregate", number % 2)])
    if instance := nodes.instance_of(number):
        claim(client, instance, {uuid: {own: 1}})
    state, values = nodes.state_of(number), nodes.node_values(number)
    is_free = state == "available" and not values.get("maintenance") and number % 30 != 29
    if not is_free and number % 7:  # of the others Nova has not heard yet
        inventories(client, uuid, {own: {**ONE, "reserved": 1}})


def fill_others(client: Client) -> None:
    """A VM host with a tree, a provider that shares its disks, and what they are used for."""
    host, numa, disks = (nodes.name_of("other", number) for number in range(3))
    client.ask("POST", "/resource_providers", {"name": "host-1", "uuid": host})
    client.ask("POST", "/resource_providers", {"name": "host-1-numa0", "uuid": numa, "parent_provider_uuid": host})
    client.ask("POST", "/resource_providers", {"name": "shared-disks", "uuid": disks})
    inventories(client, host, {"VCPU": {"total": 16, "allocation_ratio": 4.5, "reserved": 2, "max_unit": 16}})
    inventories(client, numa, {"MEMORY_MB": {"total": 32768, "step_size": 64, "min_unit": 64}})
    inventories(client, disks, {"DISK_GB": {"total": 1000}})
    traits(client, disks, ["MISC_SHARES_VIA_AGGREGATE"])
    traits(client, host, ["HW_CPU_X86_AVX2"])
    for uuid in (host, disks):
        aggregates(client, uuid, [nodes.name_of("aggregate", 5)])
    claim(client, nodes.name_of("server", 0), {host: {"VCPU": 4}, numa: {"MEMORY_MB": 1024}, disks: {"DISK_GB": 10}})
    claim(client, nodes.name_of("server", 1), {host: {"VCPU": 1}}, "MIGRATION")


def fill_tree(client: Client) -> None:
    """A device below a node, claimed with it."""
    number = next(n for n in range(nodes.NODES) if nodes.instance_of(n))
    node, device = nodes.name_of("node", number), nodes.name_of("other", 9)
    client.ask("POST", "/resource_providers", {"name": "device-1", "uuid": device, "parent_provider_uuid": node})
    inventories(client, device, {"PGPU": {"total": 2}})


def main() -> None:
    if "answer" in sys.argv:
        in_process.answer_all(application(sys.argv[1]))
        return
    client = Client(sys.argv[1])
    for number in range(nodes.NODES):
        fill_node(client, number)
    fill_others(client)
    fill_tree(client)


if __name__ == "__main__":
    main()
