"""The resources of a tenant: nodes with all that belongs to them, allocations, runbooks, images, keys and a server."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert

from baremetal_sched.baremetal.inspection import inspection
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import NodeHistory
from tests.functional.tenants.people import OPERATOR, SYSTEM, headers
from tests.service import Service

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE5vHVSmuTxJ5ivDGgnJgnwnFhR9v4GSuIRFFbBVKqm9"
_STEP = {"interface": "bios", "step": "factory_reset", "args": {}}
_ZEROS = dict.fromkeys(("resources:VCPU", "resources:MEMORY_MB", "resources:DISK_GB"), "0")


@dataclass(frozen=True)
class Estate:
    """The things of a tenant: ids and names, by what they are. ``words`` are planted in them and in nothing else."""

    project: str
    things: dict[str, list[str]]
    words: tuple[str, ...]

    def secrets(self) -> set[str]:
        """Return all that other tenants must not be told."""
        return {name for names in self.things.values() for name in names} | set(self.words)


def build(service: Service, project: str, number: int) -> Estate:
    """Make all of it. ``number`` tells tenants apart where names will not do."""
    maker = _Maker(service, project, number)
    return Estate(project, maker.make(), (maker.word, maker.trait))


class _Maker:
    def __init__(self, service: Service, project: str, number: int) -> None:
        self._service = service
        self._project = project
        self._number = number
        self.word = f"planted-by-{project}"
        self.trait = f"CUSTOM_PLANTED_BY_{project.upper()}"
        #: Only nodes of the tenant have it, so it does not matter which one a claim gets.
        self._resource_class = f"{project}-class"

    def make(self) -> dict[str, list[str]]:
        found = {"nodes": [self._node(f"{self._project}-node-{index}", index) for index in range(3)]}
        self._service.work()
        found |= self._around(found["nodes"][0], 0)
        found["events"] = [self._findings(uuid) for uuid in found["nodes"]]
        found["runbooks"] = [self._runbook()]
        found["allocations"] = [self._allocation(found["nodes"][1])]
        self._service.work()
        found["images"] = [self._image()]
        self._key()
        found["servers"] = [self._server(found["images"][0])]
        self._service.work()
        return found

    def _baremetal(self, method: str, path: str, body: Any, **options: Any) -> Any:
        answer = self._service.baremetal(method, path, body, headers=dict(SYSTEM), **options)
        return answer.json if answer.body else None

    def _node(self, name: str, index: int) -> str:
        uuid: str = self._baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": name}, version="1.10")["uuid"]
        fields = {
            "resource_class": self._resource_class,
            # The last one belongs to someone else, who leases it to the tenant.
            "owner": f"owner-of-{self._project}" if index == 2 else self._project,
            "lessee": self._project if index == 2 else None,
            "description": self.word,
            **{name: {"place": self.word} for name in ("extra", "driver_info", "properties")},
        }
        patch = [{"op": "add", "path": f"/{field}", "value": value} for field, value in fields.items()]
        self._baremetal("PATCH", f"/nodes/{uuid}", patch)
        self._baremetal("PUT", f"/nodes/{uuid}/traits", {"traits": [self.trait]})
        self._baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"})
        return uuid

    def _around(self, node: str, index: int) -> dict[str, list[str]]:
        whose = {"node_uuid": node, "extra": {"place": self.word}}

        def add(path: str, **body: Any) -> str:
            uuid: str = self._baremetal("POST", path, {**whose, **body})["uuid"]
            return uuid

        name = f"{self._project}-portgroup"
        group = add("/portgroups", name=name, address=f"52:54:00:0a:0{self._number}:0{index}")
        return {
            "portgroups": [group, name],
            "ports": [add("/ports", address=f"52:54:00:0b:0{self._number}:0{index}", portgroup_uuid=group)],
            "connectors": [add("/volume/connectors", type="iqn", connector_id=f"iqn:{self.word}")],
            "targets": [add("/volume/targets", volume_type="iscsi", boot_index=0, volume_id=self.word)],
        }

    def _findings(self, uuid: str) -> str:
        def add(session: Any) -> str:
            node = nodes.find_for_change(session, uuid)
            inspection.store(session, node, {"place": self.word}, {"place": self.word})
            event = {"uuid": uuid[::-1].replace("-", "")[:8] + uuid[8:], "node_id": node.id, "created_at": utcnow()}
            session.execute(insert(NodeHistory).values(**event, severity="INFO", event=self.word, event_type="power"))
            return event["uuid"]

        found: str = self._service.database.write(add)
        return found

    def _runbook(self) -> str:
        body = {"name": self.trait, "steps": [{**_STEP, "order": 1}], "extra": {"place": self.word}}
        uuid: str = self._baremetal("POST", "/runbooks", body)["uuid"]
        self._baremetal("PATCH", f"/runbooks/{uuid}", [{"op": "add", "path": "/owner", "value": self._project}])
        return uuid

    def _allocation(self, node: str) -> str:
        claim = {"resource_class": self._resource_class, "candidate_nodes": [node], "owner": self._project}
        body = {**claim, "name": f"{self._project}-allocation", "extra": {"place": self.word}}
        uuid: str = self._baremetal("POST", "/allocations", body)["uuid"]
        return uuid

    def _image(self) -> str:
        body = {"name": self.word, "disk_format": "raw", "container_format": "bare", "visibility": "private"}
        body |= {"tags": [self.word], "place": self.word, "image_source": "http://192.0.2.1/image"}
        sent = headers(self._project, "member")
        uuid: str = self._service.http.post_json("/image/v2/images", body, headers=dict(sent)).json["id"]
        return uuid

    def _key(self) -> None:
        body = {"keypair": {"name": self.word, "public_key": PUBLIC_KEY}}
        for role in ("manager", "member", "reader"):
            self._service.compute("POST", "/os-keypairs", body, headers=dict(headers(self._project, role)))

    def _server(self, image: str) -> str:
        flavor = {
            "name": f"{self._project}-flavor",
            "id": f"{self._project}-flavor",
            "os-flavor-access:is_public": False,
        }
        body = {"flavor": {**flavor, "ram": 1024, "vcpus": 2, "disk": 10}}
        operator = dict(OPERATOR)
        self._service.compute("POST", "/flavors", body, headers=operator)
        specs = {f"resources:CUSTOM_{self._project.upper()}_CLASS": "1", **_ZEROS}
        path = f"/flavors/{flavor['id']}"
        self._service.compute("POST", f"{path}/os-extra_specs", {"extra_specs": specs}, headers=operator)
        access = {"addTenantAccess": {"tenant": self._project}}
        self._service.compute("POST", f"{path}/action", access, headers=operator)
        server = {"name": self.word, "imageRef": image, "flavorRef": flavor["id"], "networks": "none"}
        server |= {"metadata": {"place": self.word}, "tags": [self.word], "description": self.word}
        answer = self._service.compute(
            "POST", "/servers", {"server": server}, status=202, headers=dict(headers(self._project, "member"))
        )
        uuid: str = answer.json["server"]["id"]
        return uuid
