#!/bin/bash
# cloudevents 2.2.0 (Python): an event without a time has the moment of reading as its time once it has been read.
#
# "time" is optional in CloudEvents. The same event read twice is not equal to itself, and a relay sends a time that the
# source never gave. The older interface of the same package, cloudevents.v1, does the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check cloudevents==2.2.0

cat > "$folder/read.py" <<'PYTHON'
import json

from cloudevents.core.bindings.http import HTTPMessage, from_http_event, to_structured_event
from cloudevents.v1.conversion import to_structured
from cloudevents.v1.http import from_json

stored = json.dumps({"specversion": "1.0", "id": "1", "source": "/racks", "type": "inspected"})
message = HTTPMessage({"content-type": "application/cloudevents+json"}, stored.encode())
first, second = from_http_event(message), from_http_event(message)
print("stored:", *json.loads(stored))
print("relayed:", *json.loads(to_structured_event(first).body))
print("two readings have the same time:", first.get_time() == second.get_time())
print("relayed by v1:", *json.loads(to_structured(from_json(stored))[1]))
PYTHON

cat > "$folder/expected" <<'TEXT'
stored: specversion id source type
relayed: specversion id source type time
two readings have the same time: False
relayed by v1: specversion id source type time
TEXT
"$folder/venv/bin/python" "$folder/read.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
