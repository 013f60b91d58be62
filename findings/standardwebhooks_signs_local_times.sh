#!/bin/bash
# standardwebhooks 1.1.0 (Python): a time with a zone other than UTC is signed as if its hour were UTC's.
#
# sign() puts UTC in the place of the zone instead of converting the time. The header has the real moment, so receivers
# find that no signature matches. Times in UTC, and times without a zone that mean UTC, are signed rightly.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check standardwebhooks==1.1.0

cat > "$folder/sign.py" <<'PYTHON'
import base64
from datetime import datetime, timedelta, timezone

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook("whsec_" + base64.b64encode(b"a secret of thirty-two bytes ...").decode())
now = datetime.now(timezone.utc)
for name, zone in (("UTC", timezone.utc), ("UTC+02:00", timezone(timedelta(hours=2)))):
    moment = now.astimezone(zone)
    headers = {"webhook-id": "1", "webhook-timestamp": str(int(moment.timestamp()))}
    headers["webhook-signature"] = webhook.sign("1", moment, "{}")
    try:
        webhook.verify("{}", headers)
        print(f"{name}: verified")
    except WebhookVerificationError as error:
        print(f"{name}: {error}")
PYTHON

cat > "$folder/expected" <<'TEXT'
UTC: verified
UTC+02:00: No matching signature found
TEXT
"$folder/venv/bin/python" "$folder/sign.py" > "$folder/seen"
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
