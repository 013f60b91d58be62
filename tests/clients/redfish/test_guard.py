"""The guard against connections in the API's processes works."""

import os
import subprocess
import sys

from tests.clients.redfish.site import GUARD
from tests.processes import free_port

_TRY = """
import os, socket, sys
if os.fork() == 0:
    connection = socket.socket()
    try:
        connection.connect_ex(("127.0.0.1", int(sys.argv[1])))
    finally:
        os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_connections_are_forbidden() -> None:
    """In processes that are forked, too; other ports are not forbidden."""
    forbidden, other = free_port(), free_port()
    environment = {**os.environ, "PYTHONPATH": str(GUARD), "FORBIDDEN_PORTS": f"{forbidden},1"}
    for port, status in ((forbidden, 99), (other, 0)):
        done = subprocess.run(
            [sys.executable, "-c", _TRY, str(port)], env=environment, capture_output=True, text=True, timeout=30
        )
        assert done.returncode == status
        assert ("FORBIDDEN" in done.stderr) == (status == 99)
