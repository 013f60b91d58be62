#!/bin/bash
# python-blazarclient 4.6.0: a lease cannot be made longer by less than a minute, and is made shorter by up to a minute
# more than was asked for.
#
# The client accepts seconds ("30s"), adds them to the end that the service has, or subtracts them, and sends the result
# without its seconds. So the lease is prolonged by nothing, without an error, and reduced by a whole minute. A script that
# moves leases to another service has to read their ends from Blazar after each change.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check python-blazarclient==4.6.0

cat > "$folder/ask.py" <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from blazarclient.v1 import client

END = "2031-05-05T10:00:00.000000"


class Blazar(BaseHTTPRequestHandler):
    """Has one lease, and notes what it is changed to."""

    changes = []

    def do_GET(self):
        self.answer()

    def do_PUT(self):
        Blazar.changes.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer()

    def answer(self):
        body = json.dumps({"lease": {"id": "1", "start_date": END, "end_date": END}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Blazar)
threading.Thread(target=server.serve_forever, daemon=True).start()
blazar = client.Client(blazar_url=f"http://127.0.0.1:{server.server_port}", auth_token="any")
print("end:", END)
for change in ({"prolong_for": "30s"}, {"prolong_for": "90s"}, {"reduce_by": "30s"}, {"reduce_by": "60s"}):
    blazar.lease.update("1", **change)
    ((how, seconds),) = change.items()
    print(how, seconds, "->", Blazar.changes.pop()["end_date"])
PYTHON

cat > "$folder/expected" <<'TEXT'
end: 2031-05-05T10:00:00.000000
prolong_for 30s -> 2031-05-05 10:00
prolong_for 90s -> 2031-05-05 10:01
reduce_by 30s -> 2031-05-05 09:59
reduce_by 60s -> 2031-05-05 09:59
TEXT
"$folder/venv/bin/python" "$folder/ask.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
