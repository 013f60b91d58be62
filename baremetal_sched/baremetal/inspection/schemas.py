"""Bodies of requests about inspection rules, and what agents on machines say."""

from typing import Any

from marshmallow import INCLUDE, Schema, ValidationError, fields, post_load, validate

from baremetal_sched.baremetal.inspection.rules.actions import ACTIONS
from baremetal_sched.baremetal.inspection.rules.operators import OPERATORS
from baremetal_sched.documents.schema import Choice, Flag, Parent, StrictSchema, Text, Uuid, excerpt

#: The largest number of interfaces in a report.
MOST_INTERFACES = 1024


class _Heartbeat(StrictSchema):
    callback_url = Text(required=True)
    agent_token = Text(allow_none=True)
    agent_version = Text(allow_none=True)
    agent_verify_ca = Text(allow_none=True)
    agent_status = Text(allow_none=True)
    agent_status_message = Text(allow_none=True)


class _Open(Schema):
    """A schema that takes what it does not know as it is."""

    class Meta:
        unknown = INCLUDE

    error_messages = {"type": "is not of type 'object'"}


class _Interface(_Open):
    mac_address = Text(required=True)


class _Interfaces(fields.List):  # type: ignore[type-arg]
    """Some interfaces; they are counted before any of them is looked at."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> list[Any]:
        if isinstance(value, list) and len(value) > MOST_INTERFACES:
            raise ValidationError(f"at most {MOST_INTERFACES} are accepted, and here are {len(value)}")
        interfaces: list[Any] = super()._deserialize(value, attr, data, **kwargs)
        return interfaces


class _Inventory(_Open):
    interfaces = _Interfaces(fields.Nested(_Interface), required=True, validate=validate.Length(min=1))
    bmc_address = Text(allow_none=True)
    bmc_v6address = Text(allow_none=True)


class _Inspection(_Open):
    inventory = fields.Nested(_Inventory, required=True)


HEARTBEAT = _Heartbeat()
INSPECTION = _Inspection()


#: When rules are applied.
PHASES = ("main",)
#: Rules of clients come after those in files that have more.
MOST_PRIORITY = 9999


class _Either(fields.Field[Any]):
    """An array or an object."""

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> Any:
        if not isinstance(value, list | dict):
            raise ValidationError(f"{excerpt(value)} is not of type 'array', 'object'")
        return value


class _Clause(StrictSchema):
    """Treat an empty loop like a missing one; ``multiple`` is meaningless without a loop."""

    args = _Either(required=True)
    loop = _Either(allow_none=True)

    @post_load
    def drop_what_says_nothing(self, clause: dict[str, Any], **kwargs: object) -> dict[str, Any]:
        kept = ("op", "args", "loop", "multiple") if clause.get("loop") else ("op", "args")
        return {name: clause[name] for name in kept if clause.get(name) is not None}


class _Condition(_Clause):
    op = Choice((*OPERATORS, *(f"!{op}" for op in OPERATORS)), required=True)
    multiple = Choice(("any", "all", "first", "last"), allow_none=True)


class _Action(_Clause):
    op = Choice(tuple(ACTIONS), required=True)


class _Clauses(fields.Field[list[Any]]):
    """A list of conditions or actions."""

    def __init__(self, clause: type[_Clause], *, fewest: int = 0, **options: Any) -> None:
        super().__init__(**options)
        self._clauses = fields.List(fields.Nested(clause))
        self._fewest = fewest

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> list[Any]:
        if not isinstance(value, list):
            raise ValidationError(f"{excerpt(value)} is not of type 'array'")
        if len(value) < self._fewest:
            raise ValidationError("[] should be non-empty")
        clauses: list[Any] = self._clauses.deserialize(value, attr, data, **kwargs)
        return clauses


class _Priority(fields.Field[int]):
    """An integer from 0 to ``most``, or its digits."""

    def __init__(self, most: int, **options: Any) -> None:
        super().__init__(**options)
        self._most = most

    def _deserialize(self, value: object, attr: str | None, data: Parent, **kwargs: object) -> int:
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValidationError(f"{excerpt(value)} is not of type 'integer'")
        if not 0 <= value <= self._most:
            raise ValidationError(f"Priority must be between 0 and {self._most} for user-defined rules.")
        return value


class _Rule(StrictSchema):
    description = Text(longest=255, allow_none=True)
    phase = Choice(PHASES)
    priority = _Priority(MOST_PRIORITY)
    sensitive = Flag(allow_none=True)
    conditions = _Clauses(_Condition, allow_none=True)
    actions = _Clauses(_Action, fewest=1, required=True)


class _RuleCreate(_Rule):
    uuid = Uuid(allow_none=True)


class _BuiltInRule(_Rule):
    """A rule in a file has a name of its own, and any priority."""

    uuid = Text(shortest=1, longest=255, required=True)
    priority = _Priority(2**31 - 1)


RULE_CREATE = _RuleCreate()
RULE_UPDATE = _Rule()
BUILT_IN_RULE = _BuiltInRule()
