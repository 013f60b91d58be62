"""Record what a Glance answers: ``python -m tests.conformance.image URL``.

The Glance must serve the scenario to anyone: no authentication, a policy file that allows everything, one file store,
``enabled_import_methods = [web-download]``; and its database must be empty.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import requests

from tests.conformance.image.exchange import Send, play
from tests.conformance.image.scenario import STEPS

EXCHANGES = Path(__file__).with_name("exchanges.json")


def sender(url: str) -> Send:
    """Sends to the service at ``url``."""

    def send(
        method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str, Mapping[str, str], str]:
        answer = requests.request(method, url + path, data=body, headers=dict(headers), timeout=30)
        media_type = answer.headers.get("Content-Type", "").partition(";")[0]
        return answer.status_code, media_type, answer.headers, answer.text

    return send


if __name__ == "__main__":
    recorded = list(play(STEPS, sender(sys.argv[1].rstrip("/"))))
    EXCHANGES.write_text("[\n" + ",\n".join(json.dumps(each, sort_keys=True) for each in recorded) + "\n]\n")
