"""/servers/{server_id}/ips"""

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.compute import network_addresses
from baremetal_sched.compute.api.call import ComputeCall
from baremetal_sched.compute.api.servers import find_row
from baremetal_sched.errors.servers import NetworkNotFound
from baremetal_sched.web.responses import json_response


def list_addresses(call: ComputeCall, connection: Connection, server_id: str) -> Response:
    """GET /servers/{server_id}/ips"""
    row = find_row(call, connection, server_id)
    return json_response({"addresses": network_addresses.document(row.network_data, extended=False)})


def show_network(call: ComputeCall, connection: Connection, server_id: str, network: str) -> Response:
    """GET /servers/{server_id}/ips/{network}"""
    row = find_row(call, connection, server_id)
    addresses = network_addresses.document(row.network_data, extended=False)
    if network not in addresses:
        raise NetworkNotFound(server=server_id, network=network)
    return json_response({network: addresses[network]})
