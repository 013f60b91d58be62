#!/bin/bash
# sushy 5.14.0: waiting for a task fails with TypeError if the controller says after how many seconds to ask again.
#
# Redfish answers a change that takes long with 202, the address of a task monitor, and Retry-After (DSP0266, "Asynchronous
# operations"), which is a number of seconds or a date. TaskMonitor.sleep_for returns the number as it stands in the header,
# a text, and sleeping for a text fails. The change goes on in the controller, and its caller does not learn how it ends.
# A date, and no header at all, work.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check sushy==5.14.0

cat > "$folder/wait.py" <<'PYTHON'
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sushy.connector import Connector


class Controller(BaseHTTPRequestHandler):
    """A change is accepted, and still under way when its monitor is asked for the first time."""

    protocol_version = "HTTP/1.1"
    retry_after = None
    asked = 0

    def answer(self, status):
        self.send_response(status)
        self.send_header("Location", "/redfish/v1/TaskService/TaskMonitors/1")
        if status == 202 and self.retry_after is not None:
            self.send_header("Retry-After", self.retry_after)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(202)

    def do_GET(self):
        Controller.asked += 1
        self.answer(202 if Controller.asked == 1 else 204)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Controller)
threading.Thread(target=server.serve_forever, daemon=True).start()
connector = Connector(f"http://127.0.0.1:{server.server_port}")
for name, value in (("none", None), ("a date", formatdate(time.time(), usegmt=True)), ("seconds", "1")):
    Controller.retry_after, Controller.asked = value, 0
    try:
        result = connector.post("/redfish/v1/UpdateService", data={}, blocking=True, timeout=30).status_code
    except TypeError as error:
        result = f"TypeError: {error}"
    print(f"Retry-After {name}: {result}")
PYTHON

cat > "$folder/expected" <<'TEXT'
Retry-After none: 204
Retry-After a date: 204
Retry-After seconds: TypeError: 'str' object cannot be interpreted as an integer
TEXT
"$folder/venv/bin/python" "$folder/wait.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
