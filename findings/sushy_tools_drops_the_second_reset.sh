#!/bin/bash
# sushy-tools 2.2.0, driver "fake": a machine that is on and is told ForceOff and then On ends up off.
#
# A change of power takes effect 1 to 11 seconds after it was accepted. On is compared with the state of now, which is still
# On, so it is answered with 204 and not noted, and the ForceOff before it goes on. Both orders were accepted, and the older
# one wins. A test that turns machines off and on with this emulator waits until it reads "Off" before it sends On.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "$emulator" 2> /dev/null || true; rm -rf "$folder"' EXIT
emulator=
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check sushy-tools==2.2.0

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat > "$folder/emulator.conf" <<CONF
SUSHY_EMULATOR_LISTEN_IP = "127.0.0.1"
SUSHY_EMULATOR_LISTEN_PORT = $port
SUSHY_EMULATOR_STATE_DIR = "$folder"
SUSHY_EMULATOR_FAKE_DRIVER = True
SUSHY_EMULATOR_FAKE_SYSTEMS = [
    {"uuid": "27946b59-9e44-4fa7-8e91-f3527a1ef094", "name": "n", "power_state": "On", "nics": []},
]
CONF
"$folder/venv/bin/sushy-emulator" --fake --config "$folder/emulator.conf" > "$folder/log" 2>&1 &
emulator=$!

cat > "$folder/ask.py" <<'PYTHON'
import json
import sys
import time
import urllib.error
import urllib.request

system = f"http://127.0.0.1:{sys.argv[1]}/redfish/v1/Systems/27946b59-9e44-4fa7-8e91-f3527a1ef094"


def state():
    return json.load(urllib.request.urlopen(system))["PowerState"]


def reset(kind):
    body = json.dumps({"ResetType": kind}).encode()
    request = urllib.request.Request(
        f"{system}/Actions/ComputerSystem.Reset", body, {"Content-Type": "application/json"}, method="POST"
    )
    print(f"{kind}: {urllib.request.urlopen(request).status}, and the machine is {state()}")


for _ in range(100):
    try:
        state()
        break
    except urllib.error.URLError:
        time.sleep(0.2)
reset("ForceOff")
reset("On")
time.sleep(15)
print(f"15 seconds later it is {state()}")
PYTHON

cat > "$folder/expected" <<'TEXT'
ForceOff: 204, and the machine is On
On: 204, and the machine is On
15 seconds later it is Off
TEXT
"$folder/venv/bin/python" "$folder/ask.py" "$port" > "$folder/seen" || { cat "$folder/log"; exit 1; }
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
