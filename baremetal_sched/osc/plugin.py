"""The interface of a plug-in of python-openstackclient: names, versions, options and the client."""

import argparse
from typing import Any

from baremetal_sched.osc.client import Client, Endpoints

API_NAME = "scheduling"
API_VERSION_OPTION = "os_scheduling_api_version"
API_VERSIONS = ("1",)
DEFAULT_API_VERSION = "1"


def make_client(manager: Any) -> Client:
    """Return the client for the commands; ``manager`` is the client manager of the ``openstack`` command."""
    endpoints = Endpoints(manager.get_configuration(), manager.session, manager.interface, manager.region_name)
    return Client(manager.session, endpoints)


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that all commands of the plug-in have, and return the parser."""
    parser.add_argument(
        "--os-scheduling-endpoint-override",
        metavar="<url>",
        help="Address of the scheduling API. By default that in the service catalog; without one, the sibling of "
        "placement's: .../placement -> .../scheduling (Env: OS_SCHEDULING_ENDPOINT_OVERRIDE)",
    )
    return parser
