"""Ends a process that connects to one of the ports that FORBIDDEN_PORTS names, separated by commas, with status 99.

Python imports it when it starts, if PYTHONPATH names its folder. Hooks of the audit cannot be removed, are there in
processes that are forked, and see every connection that Python makes.
"""

import os
import sys
from typing import Any

_FORBIDDEN = {int(port) for port in os.environ.get("FORBIDDEN_PORTS", "").split(",") if port}


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        address = arguments[1]
        if isinstance(address, tuple) and address[1] in _FORBIDDEN:
            os.write(2, f"FORBIDDEN: a connection to {address[0]}:{address[1]}\n".encode())
            os._exit(99)


sys.addaudithook(_watch)
