"""Types of fields that only this API has."""

from typing import Any

from marshmallow import ValidationError, fields

from baremetal_sched.baremetal.identifiers import is_logical_name
from baremetal_sched.documents.identifiers import canonical_mac
from baremetal_sched.documents.schema import Text


class MacAddress(fields.Field[str]):
    """A MAC address; becomes lower case."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        address = canonical_mac(value) if isinstance(value, str) else None
        if address is None:
            raise ValidationError(f"Expected valid MAC address for {attr}: {value}")
        return address


class LogicalName(Text):
    """A name that can stand in a path."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        name = super()._deserialize(value, attr, data, **kwargs)
        if not is_logical_name(name):
            raise ValidationError(f"invalid name '{name}'")
        return name
