"""The audit of webhooks: receivers to which no event may be sent, by the settings of today."""

import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from sqlalchemy import select

from baremetal_sched import bounded_http
from baremetal_sched.allowed_hosts import AddressRefused
from baremetal_sched.bounded_http import CallFailed
from baremetal_sched.db.models import Webhook
from baremetal_sched.db.sealing import UnreadableText
from baremetal_sched.db.transaction import Database
from baremetal_sched.scheduling.webhooks.webhooks import hosts_of
from baremetal_sched.settings import Settings

#: Seconds for the names of all receivers. What is not resolved by then is not judged.
_SECONDS = 10.0


def audit(database: Database, settings: Settings) -> Iterator[str]:
    """Yield a line for each webhook whose receiver must not be called, as far as names can be resolved here."""
    deadline = time.monotonic() + _SECONDS
    hooks = database.read(lambda session: session.execute(select(Webhook.uuid, Webhook.url).order_by(Webhook.id)).all())
    for uuid, url in hooks:
        if isinstance(url, UnreadableText):
            continue
        try:
            bounded_http.require_allowed(url, hosts_of(settings, urlsplit(url).scheme), deadline)
        except AddressRefused as error:
            yield f"webhook {uuid}: it sends nothing: {error}"
        except CallFailed:  # the name is not known here, or not now
            continue
