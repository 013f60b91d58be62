#!/bin/bash
# sushy 5.14.0: a PATCH whose ETag the controller calls old (412) is sent again without an ETag.
#
# A controller that requires no ETag then takes the change, although the resource has changed since it was read. A
# caller who passes an ETag in order not to overwrite others' changes is not told. An If-Match in "headers" is kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check sushy==5.14.0

cat > "$folder/patch.py" <<'PYTHON'
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from sushy import connector, exceptions

logging.disable()
journal = []


class Controller(BaseHTTPRequestHandler):
    """The resource has the ETag "new". A change must name it, or none."""

    def do_PATCH(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        version = self.headers.get("If-Match")
        status = 204 if version in (None, '"new"') else 412
        journal.append(f"If-Match {version} -> {status}")
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = HTTPServer(("127.0.0.1", 0), Controller)
threading.Thread(target=server.serve_forever, daemon=True).start()
connection = connector.Connector(f"http://127.0.0.1:{server.server_port}")
for how in ({"etag": '"old"'}, {"headers": {"If-Match": '"old"'}}):
    try:
        said = connection.patch("/redfish/v1/Systems/1", data={"AssetTag": "a"}, **how).status_code
    except exceptions.HTTPError as error:
        said = f"error {error.status_code}"
    print(f"{next(iter(how))}: {'; '.join(journal)}; sushy: {said}")
    journal.clear()
PYTHON

cat > "$folder/expected" <<'TEXT'
etag: If-Match "old" -> 412; If-Match None -> 204; sushy: 204
headers: If-Match "old" -> 412; sushy: error 412
TEXT
"$folder/venv/bin/python" "$folder/patch.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
