"""Compute: flavors, key pairs and a server."""

from tests.functional.examples.storyteller import Storyteller

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE5vHVSmuTxJ5ivDGgnJgnwnFhR9v4GSuIRFFbBVKqm9 demo"
PROJECT = "3f5c9a1c2d5b4f6a8e7d6c5b4a392817"
ZEROS = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}
NETWORK = {
    "links": [{"id": "eno1", "type": "phy", "ethernet_mac_address": "52:54:00:12:34:56"}],
    "networks": [
        {"id": "provider", "type": "ipv4", "link": "eno1", "ip_address": "192.0.2.31", "netmask": "255.255.255.0"}
    ],
    "services": [],
}


def tell(teller: Storyteller) -> None:
    """Describe a flavor, boot a server with it, change it and delete it."""
    _look_around(teller)
    _flavors(teller)
    _extra_specs(teller)
    _keypairs(teller)
    _quotas(teller)
    group = _server_group(teller)
    server = _boot(teller, group)
    _describe(teller, server)
    _act(teller, server)
    _clear(teller, server, group)


def _look_around(teller: Storyteller) -> None:
    teller.ask("GET", "/")
    teller.ask("GET", "/v2.1")
    teller.ask("GET", "/v2.1/extensions", longest=6)
    teller.ask("GET", "/v2.1/extensions/{alias}", alias="os-keypairs")
    teller.ask("GET", "/v2.1/os-availability-zone")
    teller.ask("GET", "/v2.1/os-availability-zone/detail")
    teller.ask("GET", "/v2.1/limits")


def _flavors(teller: Storyteller) -> None:
    path, one = "/v2.1/flavors", "/v2.1/flavors/{flavor_id}"
    flavor = {"name": "bm.gold", "id": "gold", "ram": 262144, "vcpus": 64, "disk": 960}
    teller.ask("POST", path, {"flavor": flavor})
    teller.ask("GET", path)
    teller.ask("GET", f"{path}/detail")
    teller.ask("PUT", one, {"flavor": {"description": "A whole machine of class gold"}}, flavor_id="gold")
    teller.ask("GET", one, flavor_id="gold")
    hidden = {"name": "bm.own", "id": "own", "ram": 1024, "vcpus": 1, "disk": 10, "os-flavor-access:is_public": False}
    teller.prepare("POST", path, {"flavor": hidden})
    teller.ask("POST", f"{one}/action", {"addTenantAccess": {"tenant": PROJECT}}, flavor_id="own")
    teller.ask("GET", f"{one}/os-flavor-access", flavor_id="own")
    teller.ask("DELETE", one, flavor_id="own")


def _extra_specs(teller: Storyteller) -> None:
    path = "/v2.1/flavors/{flavor_id}/os-extra_specs"
    specs = {"resources:CUSTOM_GOLD": "1", **ZEROS}
    teller.ask("POST", path, {"extra_specs": specs}, flavor_id="gold")
    wanted = {"flavor_id": "gold", "key": "trait:CUSTOM_NVME"}
    teller.ask("PUT", f"{path}/{{key}}", {"trait:CUSTOM_NVME": "required"}, **wanted)
    teller.ask("GET", path, flavor_id="gold")
    teller.ask("GET", f"{path}/{{key}}", **wanted)
    teller.ask("DELETE", f"{path}/{{key}}", **wanted)


def _keypairs(teller: Storyteller) -> None:
    path, one = "/v2.1/os-keypairs", "/v2.1/os-keypairs/{name}"
    keypair = {"name": "demo", "type": "ssh", "public_key": PUBLIC_KEY}
    teller.ask("POST", path, {"keypair": keypair}, status=201)
    teller.ask("GET", path)
    teller.ask("GET", one, name="demo")


def _quotas(teller: Storyteller) -> None:
    path = "/v2.1/os-quota-sets/{project_id}"
    for name in (path, f"{path}/defaults", f"{path}/detail"):
        teller.ask("GET", name, project_id=PROJECT)
    teller.ask("PUT", path, {"quota_set": {"instances": 10}}, status="*", project_id=PROJECT)
    teller.ask("DELETE", path, project_id=PROJECT)


def _server_group(teller: Storyteller) -> str:
    rules = {"max_server_per_host": 2}
    body = {"server_group": {"name": "web", "policy": "anti-affinity", "rules": rules}}
    return str(teller.ask("POST", "/v2.1/os-server-groups", body)["server_group"]["id"])


def _boot(teller: Storyteller, group: str) -> str:
    node = teller.service.add_node("rack1-07", traits=("CUSTOM_NVME",))
    teller.service.set_columns(node, network_data=NETWORK)
    fields = {"name": "debian-13", "container_format": "bare", "disk_format": "raw", "visibility": "public"}
    image = teller.service.http.post_json("/image/v2/images", fields).json["id"]
    location = {"method": {"name": "web-download", "uri": "https://images.example.org/debian-13.raw"}}
    teller.service.http.post_json(f"/image/v2/images/{image}/import", location)
    for path in ("/v2.1/images", "/v2.1/images/detail"):
        teller.ask("GET", path, version="2.35")
    teller.ask("GET", "/v2.1/images/{image_id}", version="2.35", image_id=image)
    server = {"name": "web-1", "flavorRef": "gold", "imageRef": image, "networks": "none", "key_name": "demo"}
    body = {"server": server, "os:scheduler_hints": {"group": group}}
    made = teller.ask("POST", "/v2.1/servers", body, status=202)["server"]["id"]
    teller.work()
    teller.ask("GET", "/v2.1/os-server-groups")
    teller.ask("GET", "/v2.1/os-server-groups/{group_id}", group_id=group)
    return str(made)


def _describe(teller: Storyteller, server: str) -> None:
    path, one = "/v2.1/servers", "/v2.1/servers/{server_id}"
    teller.ask("PUT", one, {"server": {"name": "web-1.example.org"}}, server_id=server)
    metadata, tags = f"{one}/metadata", f"{one}/tags"
    teller.ask("PUT", metadata, {"metadata": {"role": "web"}}, server_id=server)
    teller.ask("POST", metadata, {"metadata": {"stage": "test"}}, server_id=server)
    teller.ask("PUT", f"{metadata}/{{key}}", {"meta": {"stage": "production"}}, server_id=server, key="stage")
    teller.ask("GET", metadata, server_id=server)
    teller.ask("GET", f"{metadata}/{{key}}", server_id=server, key="stage")
    teller.ask("PUT", tags, {"tags": ["frontend", "team-a"]}, server_id=server)
    teller.ask("PUT", f"{tags}/{{tag}}", status=201, server_id=server, tag="monitored")
    teller.ask("GET", tags, server_id=server)
    teller.ask("GET", f"{tags}/{{tag}}", server_id=server, tag="monitored")
    for name in (path, f"{path}/detail"):
        teller.ask("GET", name)
    for name in (one, f"{one}/ips", f"{one}/os-security-groups"):
        teller.ask("GET", name, server_id=server)
    teller.ask("GET", f"{one}/ips/{{network}}", server_id=server, network="provider")


def _act(teller: Storyteller, server: str) -> None:
    one = "/v2.1/servers/{server_id}"
    teller.ask("POST", f"{one}/action", {"reboot": {"type": "SOFT"}}, status=202, server_id=server)
    teller.work()
    actions = teller.ask("GET", f"{one}/os-instance-actions", server_id=server)["instanceActions"]
    names = {"server_id": server, "request_id": actions[-1]["request_id"]}
    teller.ask("GET", f"{one}/os-instance-actions/{{request_id}}", **names)


def _clear(teller: Storyteller, server: str, group: str) -> None:
    one = "/v2.1/servers/{server_id}"
    teller.ask("DELETE", f"{one}/metadata/{{key}}", server_id=server, key="stage")
    teller.ask("DELETE", f"{one}/tags/{{tag}}", server_id=server, tag="monitored")
    teller.ask("DELETE", f"{one}/tags", server_id=server)
    teller.ask("DELETE", one, status=204, server_id=server)
    teller.ask("DELETE", "/v2.1/os-server-groups/{group_id}", status=204, group_id=group)
    teller.ask("DELETE", "/v2.1/os-keypairs/{name}", status=204, name="demo")
