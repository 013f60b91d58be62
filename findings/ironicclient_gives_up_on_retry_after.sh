#!/bin/bash
# python-ironicclient 6.3.0: a request that is answered with 409 or 503 is repeated; with the header Retry-After it is not,
# and ends in a TypeError.
#
# An overloaded service or proxy sends the header with 503 (RFC 9110, 10.2.3). The client passes it to the constructor of
# the error, and those of 409 and 503 do not take it. A service that wants this client to try again leaves the header out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check python-ironicclient==6.3.0

cat > "$folder/ask.py" <<'PYTHON'
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ironicclient import client
from keystoneauth1 import noauth, session

logging.disable()


class Overloaded(BaseHTTPRequestHandler):
    """Each request for nodes is answered with ``status``."""

    protocol_version = "HTTP/1.1"
    status, retry_after, asked = 503, None, 0

    def do_GET(self):
        Overloaded.asked += 1
        self.send_response(self.status)
        self.send_header("X-OpenStack-Ironic-API-Minimum-Version", "1.1")
        self.send_header("X-OpenStack-Ironic-API-Maximum-Version", "1.82")
        if self.retry_after is not None:
            self.send_header("Retry-After", self.retry_after)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Overloaded)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
for status in (409, 503):
    for retry_after in (None, "1"):
        Overloaded.status, Overloaded.retry_after, Overloaded.asked = status, retry_after, 0
        ironic = client.get_client(
            1, session=session.Session(auth=noauth.NoAuth(endpoint=url)), endpoint=url, os_ironic_api_version="1.82",
            max_retries=5, retry_interval=0.01,
        )
        try:
            ironic.node.get("n")
        except Exception as error:
            kind = type(error).__name__
        print(f"{status}, Retry-After {retry_after}: {Overloaded.asked} requests, {kind}")
PYTHON

cat > "$folder/expected" <<'TEXT'
409, Retry-After None: 6 requests, Conflict
409, Retry-After 1: 1 requests, TypeError
503, Retry-After None: 6 requests, ServiceUnavailable
503, Retry-After 1: 1 requests, TypeError
TEXT
"$folder/venv/bin/python" "$folder/ask.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
