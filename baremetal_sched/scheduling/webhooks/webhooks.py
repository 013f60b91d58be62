"""Webhooks as rows: made, changed, resumed, deleted."""

import uuid
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.allowed_hosts import AddressRefused, AllowedHosts
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import Webhook
from baremetal_sched.errors.events import PrefixesNotServed
from baremetal_sched.errors.webhooks import (
    DomainOfWebhookGone,
    DomainsOfWebhooksNotServed,
    InvalidWebhookUrl,
    TooManyWebhooks,
    WebhookExists,
    WebhookNotFound,
)
from baremetal_sched.scheduling.events import reading, types
from baremetal_sched.scheduling.events.cursors import Cursor, mark_of
from baremetal_sched.scheduling.events.masks import Mask
from baremetal_sched.scheduling.events.reading import Event
from baremetal_sched.scheduling.webhooks.signing import new_secret
from baremetal_sched.settings import Settings

Document = Mapping[str, Any]

#: The first schema whose releases all know prefixes of types. Earlier conductors take ``prefix.*`` literally.
PREFIXES_REVISION = "0034"
#: The first schema whose releases all know domains of webhooks. Earlier conductors would send everything.
DOMAINS_REVISION = "0035"
#: Seconds that a delivery may take, in all.
SECONDS = 10.0
#: Seconds for which the secret before the newest one signs, too.
OVERLAP = 86_400.0


def cursor_of(hook: Webhook) -> Cursor:
    """Return the cursor of a webhook."""
    return Cursor(hook.stream, hook.number, hook.mark)


#: The entry of ``[events] allowed_hosts`` that stands for all public addresses.
_PUBLIC = "public"


def hosts_of(settings: Settings, scheme: str) -> AllowedHosts:
    """Return the hosts to which events may be sent by HTTP or HTTPS. By HTTP they are those that are listed, as any
    client could be told where that leads. Raises InvalidValue for an entry that names no host."""
    listed = [each.strip() for each in settings.events.allowed_hosts]
    named = [each for each in listed if each.lower() != _PUBLIC]
    public = scheme == "https" and (not listed or len(named) < len(listed))
    return AllowedHosts(named, loopback=False, option="[events] allowed_hosts", public=public)


def check_url(url: str, settings: Settings) -> None:
    """Raise InvalidWebhookUrl unless events may be sent to the URL, as far as that is known without resolving it."""
    try:
        parts = urlsplit(url)
        has_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        hosts = hosts_of(settings, parts.scheme)
        if parts.scheme == "https" or hosts.lists_some:
            hosts.require_literal(parts.hostname or "")
    except AddressRefused as error:
        raise InvalidWebhookUrl(reason=f"{error}.") from None
    except ValueError:
        has_address = False
    if not has_address:
        raise InvalidWebhookUrl(reason="Expected an https URL with a host.")
    if not url.isascii() or any(each <= " " or each == "\x7f" for each in url) or "#" in url or "@" in parts.netloc:
        raise InvalidWebhookUrl(reason="A URL has ASCII characters, and here neither user nor password nor fragment.")
    if parts.scheme != "https" and not hosts.lists_some:
        raise InvalidWebhookUrl(reason="Expected an https URL: http is for hosts that [events] allowed_hosts lists.")


def create(session: Session, project: str, maker: Document, values: Document, most: int) -> Webhook:
    """Return a new webhook of a project (empty: of none), to which later events are sent.

    ``values``: its ``url``, and ``name``, ``types``, ``nodes`` and ``domain`` if there are any. Raises WebhookExists,
    TooManyWebhooks, PrefixesNotServed, DomainsOfWebhooksNotServed. If two take the same place at the same moment, one
    of the transactions is run again.
    """
    taken = set(session.scalars(select(Webhook.place).where(Webhook.project == project)))
    place = next((each for each in range(most) if each not in taken), None)
    if place is None:
        raise TooManyWebhooks(limit=most)
    now = reading.stream(session).now
    hook = Webhook(
        uuid=str(uuid.uuid4()), project=project, place=place, maker=dict(maker), secret=new_secret(), parked=False,
        types=[], nodes=[], stream=now.stream, number=now.number, mark=now.mark, fence=0, leased_until=0, retry_at=0,
        failures=0, created_at=utcnow(),
    )  # fmt: skip
    change(session, hook, values)
    session.add(hook)
    session.flush()
    return hook


def find(session: Session, webhook: str, visible: Collection[ColumnElement[bool]], *, lock: bool = False) -> Webhook:
    """Return the webhook; with ``lock`` its row is locked until the transaction ends. Raises WebhookNotFound."""
    query = select(Webhook).where(Webhook.uuid == webhook, *visible)
    found = session.scalars(query.with_for_update() if lock else query).first()
    if found is None:
        raise WebhookNotFound(webhook=webhook)
    return found


def change(session: Session, hook: Webhook, values: Document) -> None:
    """Set ``url``, ``name``, ``types``, ``nodes``, ``domain`` (a UUID) and ``maker`` if they are among the values (the
    row is locked). What is held back by a refusal is tried at once; another URL has its own failures. Raises
    WebhookExists, PrefixesNotServed, DomainsOfWebhooksNotServed.

    A conductor that sends by the values before neither moves the cursor nor notes a failure.
    """
    has_prefix = not types.READERS.keys().isdisjoint(values.get("types", ()))
    if has_prefix and not schema_state.has_finished(session.connection(), PREFIXES_REVISION):
        raise PrefixesNotServed
    if values.get("domain") and not schema_state.has_finished(session.connection(), DOMAINS_REVISION):
        raise DomainsOfWebhooksNotServed
    name = values.get("name")
    if name is not None and name != hook.name:
        twin = select(Webhook.id).where(Webhook.project == hook.project, Webhook.name == name)
        if session.scalar(twin) is not None:
            raise WebhookExists(name=name)
    changed = {field for field, value in values.items() if getattr(hook, field) != value}
    for field, value in values.items():
        setattr(hook, field, value)
    hook.retry_at = 0
    hook.fence += bool(changed - {"name"})
    if "url" in changed:
        hook.failures, hook.failing_since, hook.attempts = 0, None, None


def filter_of(session: Session, hook: Webhook) -> dict[str, Any]:
    """Return which events are for the webhook, as ``read_after`` takes it. Raises DomainOfWebhookGone."""
    domain = None if hook.domain is None else naming.lookup(session, hook.domain)
    if hook.domain is not None and domain is None:
        raise DomainOfWebhookGone(domain=hook.domain)
    inside = None if domain is None else domain.condition()
    return {"types": types.selected(hook.types), "nodes": hook.nodes or None, "on_nodes": inside}


def keys_of(hook: Webhook, now: float) -> list[str]:
    """Return the secrets that sign at a time of the clock of the database; an UnreadableText cannot be decrypted."""
    previous = hook.previous_secret if (hook.previous_until or 0) > now else None
    return [each for each in (hook.secret, previous) if each is not None]


def renew_secret(session: Session, hook: Webhook) -> None:
    """Give the webhook a new secret. For a day the one before signs as well; the one before that no longer does."""
    hook.previous_secret, hook.previous_until = hook.secret, session.scalars(select(epoch())).one() + OVERLAP
    hook.secret = new_secret()


def resume(session: Session, hook: Webhook, after: Cursor | None = None) -> int | None:
    """Deliver again, beginning at once, what comes after the cursor (``hook``: its row locked), or after another one.
    Return how many events after it have been deleted; None if that is unknown, as the stream is another one,
    or has lost events.

    No conductor that began before can still move the cursor. Raises EventsGone if not all events after ``after`` are
    left.
    """
    stream = reading.stream(session, (after or hook).number)
    oldest = stream.beginning
    if after is not None:
        stream.require(after)
        hook.stream, hook.number, hook.mark = after.stream, after.number, stream.cursor(after.number).mark
    lost = max(0, oldest.number - hook.number) if stream.has(cursor_of(hook)) else None
    if lost != 0:
        hook.stream, hook.number, hook.mark = oldest.stream, oldest.number, oldest.mark
    hook.parked, hook.retry_at, hook.failures, hook.failing_since = False, 0, 0, None
    hook.fence += 1
    return lost


def skip(session: Session, hook: Webhook, mask: Mask) -> Event | None:
    """Move the cursor of a webhook, which this transaction has resumed, past the next event that would be sent by the
    rights of its maker. Return this event as the maker may see it; None if there is none. Raises
    DomainOfWebhookGone."""
    filters = filter_of(session, hook)
    number, stream = hook.number, reading.stream(session)
    while number < stream.last:
        until = min(stream.last, number + reading.WINDOW)
        found = reading.read_after(
            session,
            number,
            1,
            project=mask.project,
            **filters,
            until=until,
        )
        if found:
            cursor = stream.cursor(found[0].number, mark_of(found[0].uuid))
            hook.number, hook.mark = cursor.number, cursor.mark
            return mask.apply(found[0])
        number = until
    return None
