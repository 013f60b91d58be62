"""The text that ``serve`` prints for clients: where the service is, and how to log in."""

import shlex
import socket
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from textwrap import indent

import click
import yaml

#: Addresses of the documentation networks. Nothing is sent to them; a connected datagram socket shows which of this
#: host's addresses other hosts can reach.
_ELSEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}


@dataclass(frozen=True)
class ClientLogin:
    """How a client authenticates. ``password`` is set only if it was created by this call.

    ``auth_type`` is the name of a keystoneauth plug-in; None means a Keystone that the user knows.
    """

    auth_type: str | None = "none"
    username: str | None = None
    password: str | None = None
    remark: str = ""
    #: The certificate that clients need to trust the service.
    cacert: Path | None = None


def announce(url: str, login: ClientLogin, pages: str | None = None) -> None:
    """Print that the service is ready, the address of its pages if it has any, and settings for clients to paste."""
    address = pages and f"Pages: {pages}"
    texts = [f"\n{client_environment(url, login)}\n\n{clouds_yaml(url, login)}", login.remark]
    # In one piece: a program that waits for the first line gets the rest with it.
    click.echo("\n".join(filter(None, [f"baremetal-sched is ready at {url}", address, *texts])))


def client_environment(url: str, login: ClientLogin | None = None) -> str:
    """Return environment variables for the ``openstack`` command."""
    login = login or ClientLogin()
    variables = {
        "OS_AUTH_TYPE": login.auth_type,
        "OS_USERNAME": login.username,
        "OS_PASSWORD": login.password,
        "OS_CACERT": login.cacert and shlex.quote(str(login.cacert)),
        "OS_ENDPOINT": f"{url}/placement" if login.auth_type else None,
        **{f"OS_{name.upper()}_ENDPOINT_OVERRIDE": endpoint for name, endpoint in _endpoints(url, login).items()},
        "OS_PLACEMENT_API_VERSION": "1.39",
        # Without Keystone no Identity version can be discovered, and the commands for flavors, key pairs and servers
        # discover it first.
        "OS_IDENTITY_API_VERSION": "3",
    }
    lines = [f"    export {name}={value}" for name, value in variables.items() if value is not None]
    return "For the openstack command, paste this into a shell:\n\n" + "\n".join(lines)


def clouds_yaml(url: str, login: ClientLogin | None = None) -> str:
    """Return the same settings as a ``clouds.yaml``."""
    login = login or ClientLogin()
    auth = {
        "username": login.username,
        "password": login.password,
        "endpoint": f"{url}/placement" if login.auth_type else None,
    }
    cloud = {
        "auth_type": login.auth_type,
        "auth": {name: value for name, value in auth.items() if value is not None} or None,
        **{f"{name}_endpoint_override": endpoint for name, endpoint in _endpoints(url, login).items()},
        "cacert": login.cacert and str(login.cacert),
        "placement_api_version": "1.39",
        "identity_api_version": "3",
    }
    document = {"clouds": {"baremetal-sched": {name: value for name, value in cloud.items() if value is not None}}}
    text = yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=10_000)
    return f"or save this as clouds.yaml and use --os-cloud baremetal-sched:\n\n{indent(text, '    ')}"


def _endpoints(url: str, login: ClientLogin) -> dict[str, str]:
    # With the plug-in "none" the openstack command takes OS_ENDPOINT as the Identity endpoint; with this one the
    # endpoint must be set. Only version discovery requests are sent there.
    identity = {"identity": f"{url}/placement"} if login.auth_type == "http_basic" else {}
    return {
        **identity,
        "placement": f"{url}/placement",
        "baremetal": f"{url}/baremetal",
        "compute": f"{url}/compute/v2.1",
        "image": f"{url}/image",
    }


def url_for_clients(scheme: str, host: str, port: int) -> str:
    """Return the URL under which clients reach the service on ``host``: if it listens on all addresses, one of this
    host's."""
    try:
        is_any = ip_address(host).is_unspecified
    except ValueError:
        is_any = False
    if is_any:
        host = _own_address(socket.AF_INET6 if ":" in host else socket.AF_INET) or host
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _own_address(family: socket.AddressFamily) -> str | None:
    """Return the address from which this machine reaches others; None if it reaches none."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((_ELSEWHERE[family], 9))
        except OSError:
            return None
        address: str = probe.getsockname()[0]
        return address
