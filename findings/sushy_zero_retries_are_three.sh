#!/bin/bash
# sushy 5.14.0: server_side_retries=0 makes three attempts at a connection, with two seconds between them; 1 makes one.
#
# The same number is the greatest one of repeated reads after an answer such as 503, and there 0 is none. So no value has
# one attempt at connections and no repeated read: to repeat by other rules, leave out sushy's.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check sushy==5.14.0

cat > "$folder/ask.py" <<'PYTHON'
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from sushy import connector, exceptions

logging.disable()
requests, busy = [], True


class Controller(BaseHTTPRequestHandler):
    """Answers 503, or closes the connection without an answer."""

    def do_GET(self):
        requests.append(self.path)
        if busy:
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
        self.close_connection = True

    def log_message(self, *arguments):
        pass


server = HTTPServer(("127.0.0.1", 0), Controller)
threading.Thread(target=server.serve_forever, daemon=True).start()
for busy in (False, True):
    for retries in (0, 1):
        requests.clear()
        client = connector.Connector(
            f"http://127.0.0.1:{server.server_port}", server_side_retries=retries, server_side_retries_delay=0
        )
        try:
            client.get("/redfish/v1")
        except exceptions.SushyError as error:
            what = "503" if busy else "no answer"
            print(f"server_side_retries={retries}, {what}: {len(requests)} requests, {type(error).__name__}")
PYTHON

cat > "$folder/expected" <<'TEXT'
server_side_retries=0, no answer: 3 requests, ConnectionError
server_side_retries=1, no answer: 1 requests, ConnectionError
server_side_retries=0, 503: 1 requests, ServerSideError
server_side_retries=1, 503: 2 requests, ServerSideError
TEXT
"$folder/venv/bin/python" "$folder/ask.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
