#!/bin/bash
# os-resource-classes 1.1.0: normalize_name() puts CUSTOM_ in front of a name that has it already.
#
# A node of Ironic whose resource class is CUSTOM_GOLD, or VCPU, has inventory of CUSTOM_CUSTOM_GOLD, or CUSTOM_VCPU, as
# Nova's driver makes the names with it: a flavor that asks for CUSTOM_GOLD finds no node. Two classes that differ in
# punctuation become the same.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check os-resource-classes==1.1.0

cat > "$folder/expected" <<'TEXT'
gold: CUSTOM_GOLD
CUSTOM_GOLD: CUSTOM_CUSTOM_GOLD
VCPU: CUSTOM_VCPU
gold-1: CUSTOM_GOLD_1
gold.1: CUSTOM_GOLD_1
TEXT
"$folder/venv/bin/python" > "$folder/seen" <<'PYTHON'
from os_resource_classes import normalize_name

for name in ("gold", "CUSTOM_GOLD", "VCPU", "gold-1", "gold.1"):
    print(f"{name}: {normalize_name(name)}")
PYTHON
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
