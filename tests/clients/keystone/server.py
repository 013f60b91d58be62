"""Serves a Keystone with the Python that has it: ``server.py FOLDER``, where its keystone.conf is.

It says where it is on its standard output, once it is ready.
"""

import os
import sys
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    """Keystone has a log of its own."""

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing."""


def main(folder: str) -> None:
    """Serve until the process is ended."""
    os.environ["OS_KEYSTONE_CONFIG_DIR"] = folder
    del sys.argv[1:]  # Keystone would take them for its own
    from keystone.server.wsgi import initialize_public_application

    server = make_server("127.0.0.1", 0, initialize_public_application(), threaded=True, request_handler=Quiet)
    print(f"keystone is ready at http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
