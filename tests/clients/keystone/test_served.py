"""The service with a real Keystone, as clients see it: the ``openstack`` command, openstacksdk, and plain HTTP."""

from pathlib import Path

import openstack
import pytest
import requests

from tests.clients.keystone.cloud import Keystone
from tests.clients.openstack import OpenStack


def get(url: str, **headers: str) -> requests.Response:
    return requests.get(url, headers={name.replace("_", "-"): value for name, value in headers.items()}, timeout=60)


def test_without_a_token(url: str, keystone: Keystone) -> None:
    for path in ("/baremetal/v1/nodes", "/placement/resource_providers", "/compute/v2.1/flavors", "/image/v2/images"):
        for headers in ({}, {"X_Auth_Token": "unknown"}, {"X_Roles": "admin", "X_Identity_Status": "Confirmed"}):
            response = get(url + path, **headers)
            assert response.status_code == 401
            assert response.headers["WWW-Authenticate"] == f'Keystone uri="{keystone.url}/v3"'
    for path in ("/", "/healthcheck", "/baremetal/", "/baremetal/v1/", "/placement/", "/compute/"):
        assert get(url + path).ok


def test_tokens(url: str, keystone: Keystone) -> None:
    assert get(f"{url}/baremetal/v1/nodes", X_Auth_Token=keystone.token("system-reader")).ok
    tokens = {"X_Auth_Token": keystone.token("red-reader"), "X_Service_Token": keystone.token("service")}
    assert get(f"{url}/compute/v2.1/flavors", **tokens).ok
    assert get(f"{url}/placement/resource_providers", X_Auth_Token=keystone.token("red-admin")).ok
    refused = get(f"{url}/placement/resource_providers", X_Auth_Token=keystone.token("red-reader"), X_Roles="admin")
    assert refused.status_code == 403


def test_the_openstack_command(url: str, keystone: Keystone, tmp_path: Path) -> None:
    """All that it needs is where Keystone is, and who the user is."""
    administrator = OpenStack(tmp_path, keystone.variables("system-admin"))
    made = administrator("baremetal node create --driver fake-hardware --name cli-1 --resource-class gold -f json")
    listed = administrator("baremetal node list -f json")
    assert made["uuid"] in {value for node in listed for value in node.values()}
    tenant = OpenStack(tmp_path, keystone.variables("red-admin"))
    providers = tenant("resource provider list -f json")
    assert made["uuid"] in {provider["uuid"] for provider in providers}
    assert tenant("flavor create --ram 1024 --vcpus 1 --disk 1 cli-flavor -f json")["name"] == "cli-flavor"
    # Without a catalogue it would look for volumes, whether there are any or not.
    assert {"Name": "max_total_instances", "Value": -1} in tenant("limits show --absolute -f json")
    reader = OpenStack(tmp_path, keystone.variables("red-reader"))
    assert "cli-flavor" in {flavor["Name"] for flavor in reader("flavor list -f json")}
    assert reader("image list -f json") == []
    assert "403" in reader.refused("flavor delete cli-flavor")
    stranger = OpenStack(tmp_path, {**keystone.variables("red-reader"), "OS_PASSWORD": "wrong"})
    assert "HTTP 401" in stranger.refused("flavor list")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")  # it warns of itself
def test_openstacksdk(url: str, keystone: Keystone) -> None:
    with openstack.connect(
        **keystone.cloud("system-admin"), load_yaml_config=False, load_envvars=False
    ) as administrator:
        node = administrator.baremetal.create_node(driver="fake-hardware", name="sdk-1")
        assert administrator.baremetal.get_node("sdk-1").id == node.id
        administrator.baremetal.delete_node(node)
    with openstack.connect(**keystone.cloud("blue-member"), load_yaml_config=False, load_envvars=False) as tenant:
        assert node.id not in {each.id for each in tenant.baremetal.nodes()}
        assert list(tenant.image.images()) == []
        assert list(tenant.compute.servers()) == []
