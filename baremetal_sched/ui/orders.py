"""What an action is to be done with, as the form of a page says it, and the words for that."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from sqlalchemy import false, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.policies.domains import sees_domains
from baremetal_sched.baremetal.api.resources.hold_actors import view_of
from baremetal_sched.baremetal.bookings.bookings import RUNNING
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.baremetal.holds import rules
from baremetal_sched.db.models import Hold, Node, Webhook
from baremetal_sched.db.paging import Page
from baremetal_sched.errors import InvalidError, InvalidValue
from baremetal_sched.scheduling.api import webhooks
from baremetal_sched.scheduling.api.capacity import visible_to
from baremetal_sched.scheduling.bookings.documents import BookingFilters, select_bookings
from baremetal_sched.ui import hold_owners, stopped_servers
from baremetal_sched.ui.action_bodies import Values
from baremetal_sched.ui.actions import ACTIONS
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.find.form import flavors_seen, images_seen, read
from baremetal_sched.ui.guard import page_below
from baremetal_sched.ui.page_action import PageAction
from baremetal_sched.ui.stopped_servers import StoppedServers

#: The number of items of one action.
MOST_ITEMS = 100


@dataclass(frozen=True)
class ActionOrder:
    """An action and its items, the address of the page that it was chosen on, and the fields of its form."""

    name: str
    action: PageAction
    items: tuple[str, ...]
    back: str
    values: Values

    @property
    def counted(self) -> str:
        """Return the number of the items with their noun."""
        return f"{len(self.items)} {self.action.noun}{'s' if len(self.items) != 1 else ''}"


class TooManyTicked(InvalidValue):
    """An order has more than MOST_ITEMS items."""

    def __init__(self, order: ActionOrder) -> None:
        super().__init__(message=f"{len(order.items)} rows are ticked. Tick at most {MOST_ITEMS}.")
        self.order = order


@dataclass(frozen=True)
class OrderWords:
    """What a confirmation says about the items: their names; what is on their machines if that stops; and those that
    end holds of others, with a person for each, empty where that is hidden. ``bookings``: those that machines can be
    claimed under."""

    names: Mapping[str, str]
    stopped: StoppedServers | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    bookings: Sequence[tuple[str, str]] = ()


def order_of(call: UiCall) -> ActionOrder:
    """Return the order that a form sends, or an address says. Raises InvalidValue, TooManyTicked."""
    pairs = list(call.form.items(multi=True)) if call.http.method == "POST" else call.query
    typed = dict(pairs)
    name = typed.get("action", "").strip()
    action = ACTIONS.get(name)
    if action is None:
        raise InvalidValue(message="Choose an action.")
    unknown = sorted({name for name, _ in pairs} - {"action", "item", "back", "csrf_token"} - action.names)
    if unknown:
        raise InvalidValue(message=f"Unexpected fields: {', '.join(unknown)}")
    items = tuple(dict.fromkeys(value for name, value in pairs if name == "item"))
    if not items:
        raise InvalidValue(message="Tick at least one row, then choose the action again.")
    passwords = {each.name for each in action.fields if each.kind == "password"}
    values = {field: text if field in passwords else text.strip() for field, text in typed.items()}
    order = ActionOrder(name, action, items, page_below(call, values.get("back", "")), values)
    if len(items) > MOST_ITEMS:
        raise TooManyTicked(order)
    return order


def words_of(call: UiCall, session: Session, order: ActionOrder) -> OrderWords:
    """Return what a confirmation says about the items; three statements at most."""
    items = order.items
    if order.name in ("claim", "book"):
        bookings = _running(call, session) if order.name == "claim" else ()
        return OrderWords({item: _claimed(call, session, item) for item in items}, bookings=bookings)
    if "booking" in order.name:
        return OrderWords({item: f"booking {item}" for item in items})
    if order.name == "give back":
        return OrderWords({item: f"claim {item}" for item in items}, stopped_servers.of_claims(call, session, items))
    if order.name == "set end":
        return OrderWords({item: item.replace("/", " ") if "/" in item else f"claim {item}" for item in items})
    stopped = stopped_servers.of_nodes(call, session, items) if order.action.stops_servers else None
    others = hold_owners.of_others(call, session, order.name, items)
    return OrderWords(names_of(call, session, order), stopped, others)


def _running(call: UiCall, session: Session) -> list[tuple[str, str]]:
    """Return UUIDs and names of bookings that run, of the project of the caller's claims; "" is none."""
    project = call.caller.project_id or call.settings.placement.incomplete_consumer_project_id
    found = select_bookings(session, BookingFilters(RUNNING, project=project), Page(MOST_ITEMS))
    return [("", "none"), *((each.uuid, each.name or each.uuid) for each in found)] if found else []


def _claimed(call: UiCall, session: Session, item: str) -> str:
    """Return the request of a form in words; as it is, if it is none."""
    try:
        form = read(parse_qsl(item, keep_blank_values=True))
    except InvalidError:
        form = None
    if form is None:
        return item
    viewer = call.compute.viewer
    flavors = dict(flavors_seen(session, viewer)) if form.flavor else {}
    return form.words(flavors, dict(images_seen(session, viewer)) if form.image else {})


def names_of(call: UiCall, session: Session, order: ActionOrder) -> dict[str, str]:
    """Return what people call the items: the names of nodes and webhooks that the caller sees, and the types of their
    holds that it sees; domains as LEVEL:NAME. Three statements at most."""
    items = order.items
    if order.name == "hold domain":
        seen_domains = visible_to(call).conditions() if sees_domains(call) else (false(),)
        return {item: item for item in items} | naming.called(session, items, seen_domains)
    wanted = [part for item in items for part in item.split("/", 1)]
    query = select(Node.uuid, Node.name).where(Node.uuid.in_(wanted), *call.visible.conditions())
    nodes: dict[str, str] = {uuid: name or uuid for uuid, name in session.execute(query)}
    holds: dict[str, str] = {}
    if any("/" in item for item in items) and nodes:
        chosen = select(Hold, Node.owner, Node.lessee).join(Node, Node.id == Hold.node_id)
        rows = session.execute(chosen.where(Hold.uuid.in_(wanted), Node.uuid.in_(nodes)))
        seen = ((hold, view_of(call, owner, lessee)) for hold, owner, lessee in rows)
        holds = {hold.uuid: rules.in_words(hold, view) for hold, view in seen if view.sees(hold)}
    if any(item.startswith("webhook/") for item in items):
        hooks = select(Webhook.uuid, Webhook.name).where(Webhook.uuid.in_(wanted), *webhooks.visible_to(call))
        nodes |= {uuid: name or uuid for uuid, name in session.execute(hooks)}
    return {item: ", ".join(_called(item, nodes, holds)) for item in items}


def _called(item: str, nodes: Mapping[str, str], holds: Mapping[str, str]) -> Iterator[str]:
    for part in item.split("/", 1):
        yield nodes.get(part) or holds.get(part) or part
