#!/bin/bash
# redfish-utilities 3.5.2 (DMTF's Tacklebox): insert_virtual_media() sends no value that is False.
#
# A request for media that can be written, or that are not inserted yet, gets the controller's default. By the schema of
# VirtualMedia the default of both parameters is true: the image is inserted and write-protected, and nothing is said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check redfish==3.4.2 redfish-utilities==3.5.2

cat > "$folder/insert.py" <<'PYTHON'
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import redfish
import redfish_utilities

logging.disable()
SYSTEM = "/redfish/v1/Systems/1"
SLOT = f"{SYSTEM}/VirtualMedia/Cd"
TREE = {
    "/redfish/v1/": {"Systems": {"@odata.id": "/redfish/v1/Systems"}},
    "/redfish/v1/Systems": {"Members": [{"@odata.id": SYSTEM}]},
    SYSTEM: {"Id": "1", "VirtualMedia": {"@odata.id": f"{SYSTEM}/VirtualMedia"}},
    f"{SYSTEM}/VirtualMedia": {"Members": [{"@odata.id": SLOT}]},
    SLOT: {"Id": "Cd", "Image": None, "MediaTypes": ["CD"]},
}
TREE[SLOT]["Actions"] = {"#VirtualMedia.InsertMedia": {"target": f"{SLOT}/Actions/VirtualMedia.InsertMedia"}}


class Controller(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"@odata.id": self.path, **TREE[self.path]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        print("received:", *sorted(json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = HTTPServer(("127.0.0.1", 0), Controller)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = redfish.redfish_client(f"http://127.0.0.1:{server.server_port}")
for value in (True, False):
    print(f"Inserted and WriteProtected: {value}", flush=True)
    redfish_utilities.insert_virtual_media(client, "http://127.0.0.1/image.iso", inserted=value, write_protected=value)
PYTHON

cat > "$folder/expected" <<'TEXT'
Inserted and WriteProtected: True
received: Image Inserted WriteProtected
Inserted and WriteProtected: False
received: Image
TEXT
"$folder/venv/bin/python" "$folder/insert.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
