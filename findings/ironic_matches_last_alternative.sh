#!/bin/bash
# Ironic 39.0.0: the operator "matches" of inspection rules adds "$" to the regular expression, without parentheses.
#
# Of several alternatives only the last one must match up to the end: "Dell|HPE" holds for "Dell Inc.", but not for
# "HPE Inc.". The order of the alternatives changes which machines a rule applies to; with parentheses it does not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ironic==39.0.0

cat > "$folder/matches.py" <<'PYTHON'
from ironic.common.inspection_rules import operators

matches = operators.MatchesOperator()
for regex in ("Dell|HPE", "HPE|Dell", "(Dell|HPE)"):
    for vendor in ("Dell", "Dell Inc.", "HPE Inc."):
        print(f"{regex} holds for {vendor}: {matches(None, value=vendor, regex=regex)}")
PYTHON

cat > "$folder/expected" <<'TEXT'
Dell|HPE holds for Dell: True
Dell|HPE holds for Dell Inc.: True
Dell|HPE holds for HPE Inc.: False
HPE|Dell holds for Dell: True
HPE|Dell holds for Dell Inc.: False
HPE|Dell holds for HPE Inc.: True
(Dell|HPE) holds for Dell: True
(Dell|HPE) holds for Dell Inc.: False
(Dell|HPE) holds for HPE Inc.: False
TEXT
"$folder/venv/bin/python" "$folder/matches.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
