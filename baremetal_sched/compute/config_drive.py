"""The config drive of a server, in the form in which the bare metal API takes one: a JSON object.

Every server gets one, since there is no metadata service.
"""

import base64
import binascii
from typing import Any

from baremetal_sched.db.models import Node, Server
from baremetal_sched.errors import InvalidValue

#: Most characters of user data, encoded; as Nova has it.
MOST_USER_DATA = 65535


def build(server: Server, node: Node, zone: str, admin_password: str | None) -> dict[str, Any]:
    """Return the config drive for ``server`` on ``node``. ``admin_password`` is kept nowhere else."""
    metadata: dict[str, Any] = {
        "uuid": server.uuid,
        "name": server.name,
        "hostname": server.hostname,
        "availability_zone": zone,
        "project_id": server.project_id,
        "launch_index": server.launch_index,
    }
    key = server.keypair
    if key and key["public_key"]:  # of a server that was imported it may not be known
        metadata["public_keys"] = {key["name"]: key["public_key"]}
        metadata["keys"] = [{"name": key["name"], "type": key["type"], "data": key["public_key"]}]
    if server.user_metadata:
        metadata["meta"] = dict(server.user_metadata)
    if admin_password is not None:
        metadata["admin_pass"] = admin_password
    drive: dict[str, Any] = {"meta_data": metadata}
    if server.user_data is not None:
        drive["user_data"] = decoded(server.user_data)
    if node.network_data:
        drive["network_data"] = node.network_data
    return drive


def decoded(user_data: str) -> str:
    """Return user data as text. Raises InvalidValue unless it is text in UTF-8, in base64."""
    try:
        text = base64.b64decode(user_data, validate=True).decode()
    except (binascii.Error, ValueError):
        raise InvalidValue(message="user_data has to be text in UTF-8, encoded in base64.") from None
    if "\x00" in text:
        raise InvalidValue(message="user_data must not contain the character NUL.")
    return text
