#!/bin/bash
# cloudevents 2.2.0 (Python): JSON data that is no object changes when an event goes from structured to binary mode.
#
# An array and "true" become Python's text for them, which is no JSON. A string of digits comes back as a number, such
# as a serial number. Nothing is raised. It matters where a relay reads events in one mode and sends them in the other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check cloudevents==2.2.0

cat > "$folder/relay.py" <<'PYTHON'
import json

from cloudevents.core.bindings.http import HTTPMessage, from_http_event, to_binary_event

for data in ({"serial": "0421"}, ["eth0", None, True], True, "4210", "rack 7"):
    attributes = {"specversion": "1.0", "id": "1", "source": "/racks", "type": "inspected"}
    attributes["datacontenttype"] = "application/json"
    sent = HTTPMessage({"content-type": "application/cloudevents+json"}, json.dumps({**attributes, "data": data}).encode())
    relayed = to_binary_event(from_http_event(sent))
    received = from_http_event(relayed).get_data()
    print(f"{json.dumps(data)}: body {relayed.body.decode()}; received {received!r}; same: {received == data}")
PYTHON

cat > "$folder/expected" <<'TEXT'
{"serial": "0421"}: body {"serial": "0421"}; received {'serial': '0421'}; same: True
["eth0", null, true]: body ['eth0', None, True]; received "['eth0', None, True]"; same: False
true: body True; received 'True'; same: False
"4210": body 4210; received 4210; same: False
"rack 7": body rack 7; received 'rack 7'; same: True
TEXT
"$folder/venv/bin/python" "$folder/relay.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
