"""What commands know of the documents at /scheduling: ``python -m tests.members`` writes it."""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from baremetal_sched.scheduling.schemas.answers import Member
from baremetal_sched.scheduling.schemas.bookings import BOOKING_MEMBERS
from baremetal_sched.scheduling.schemas.claims import CLAIM_MEMBERS
from baremetal_sched.scheduling.schemas.domains import DOMAIN_MEMBERS
from baremetal_sched.scheduling.schemas.holds import HOLD_MEMBERS
from baremetal_sched.scheduling.schemas.webhooks import WEBHOOK_MEMBERS

FILE = Path(__file__).parents[1] / "baremetal_sched" / "members.py"
_KINDS = {
    "BOOKING": BOOKING_MEMBERS,
    "CLAIM": CLAIM_MEMBERS,
    "DOMAIN": DOMAIN_MEMBERS,
    "HOLD": HOLD_MEMBERS,
    "WEBHOOK": WEBHOOK_MEMBERS,
}


def text() -> str:
    """The file as it must be: what stands above the tables, and the tables."""
    head = re.split(r"\n\n[A-Z]+ = Members", FILE.read_text())[0]
    return "\n".join((f"{head}\n", *(_table(name, members) for name, members in _KINDS.items()), ""))


def _table(name: str, members: Collection[Member]) -> str:
    shown = {each.name: each.shown for each in members if each.shown}
    columns = {each.name: each.column for each in members if each.column}
    values: dict[str, dict[str, object]] = {
        "types": {
            name: "time" if "format" in schema and schema["format"] == "date-time" else schema.get("type", "string")
            for name, schema in shown.items()
        },
        "columns": {name: columns[name][1] for name in sorted(columns, key=columns.__getitem__)},
        "words": {name: schema["enum"] for name, schema in shown.items() if "enum" in schema},
        "new_words": {each.name: each.new["enum"] for each in members if each.new and "enum" in each.new},
    }
    return f"{name} = Members(\n{''.join(_argument(name, value) for name, value in values.items() if value)})"


def _argument(name: str, value: Mapping[str, object]) -> str:
    lines = (f'        "{each}": {_literal(name, value[each])},\n' for each in value)
    return f"    {name}={{\n{''.join(lines)}    }},\n"


def _literal(name: str, value: object) -> str:
    """Of several types the first, as null is the last."""
    if not isinstance(value, list):
        return json.dumps(value)
    return json.dumps(value[0]) if name == "types" else f"({json.dumps(value)[1:-1]})"


if __name__ == "__main__":
    FILE.write_text(text())
