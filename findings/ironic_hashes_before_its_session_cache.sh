#!/bin/bash
# ironic 39.0.0: a Redfish session that is in the cache costs as much of a processor as a new password would.
#
# The cache knows sessions by a hash of the password, so that a changed one is noticed. The hash is made anew at each use:
# 600,000 rounds of PBKDF2, some tenths of a second, while the request that is then sent takes milliseconds. A reading of
# the power of 50 machines whose sessions are all known makes 50 hashes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ironic==39.0.0 sushy==5.14.0

cat > "$folder/use.py" <<'PYTHON'
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from ironic.conf import CONF
from ironic.drivers.modules.redfish.utils import SessionCache

ROOT = {"@odata.id": "/redfish/v1/", "Id": "RootService", "Name": "Root", "RedfishVersion": "1.6.0"}
asked, rounds, derive = [], [], hashlib.pbkdf2_hmac


class Controller(BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        body = json.dumps(ROOT).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def counted(*arguments, **named):
    rounds.append(arguments[3])
    return derive(*arguments, **named)


hashlib.pbkdf2_hmac = counted
CONF([], project="ironic")
server = HTTPServer(("127.0.0.1", 0), Controller)
threading.Thread(target=server.serve_forever, daemon=True).start()
info = {
    "address": f"http://127.0.0.1:{server.server_port}",
    "username": "admin",
    "password": "secret",
    "verify_ca": False,
    "auth_type": "basic",
}
sessions = set()
for _ in range(5):
    with SessionCache(info) as connection:
        sessions.add(id(connection))
print("uses: 5, sessions:", len(sessions), "requests:", len(asked))
print("rounds of each hash:", *rounds)
PYTHON

cat > "$folder/expected" <<'TEXT'
uses: 5, sessions: 1 requests: 1
rounds of each hash: 600000 600000 600000 600000 600000
TEXT
"$folder/venv/bin/python" "$folder/use.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
