#!/bin/bash
# ironic-python-agent 13.0.0: all steps of cleaning say that they may be aborted; no step of deploying says anything.
#
# Ironic 39 takes a missing mark for "must not be interrupted": a deployment is then aborted only after the agent has
# written the whole image. A program that reads the lists of steps must tell "false" from "not said".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ironic-python-agent==13.0.0

cat > "$folder/steps.py" <<'PYTHON'
from ironic_python_agent import config  # noqa: F401 - registers the options that the next import reads
from ironic_python_agent import hardware

manager = hardware.GenericHardwareManager()
for kind in ("clean", "deploy", "service"):
    steps = getattr(manager, f"get_{kind}_steps")({}, [])
    marks = [str(step.get("abortable", "not said")) for step in steps]
    counts = ", ".join(f"{mark}: {marks.count(mark)}" for mark in sorted(set(marks)))
    print(f"{kind}: {counts}")
PYTHON

cat > "$folder/expected" <<'TEXT'
clean: True: 12
deploy: not said: 6
service: True: 6, not said: 4
TEXT
"$folder/venv/bin/python" "$folder/steps.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
