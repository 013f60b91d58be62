"""Capabilities: what extra specs of a flavor require, and what the properties of a node say it has."""

from collections.abc import Mapping
from typing import Any

_CAPABILITY = "capabilities:"


def required_capabilities(extra_specs: Mapping[str, str]) -> dict[str, str]:
    """Return the capabilities that a flavor asks for, in its order. A name may have colons."""
    return {key.removeprefix(_CAPABILITY): value for key, value in extra_specs.items() if key.startswith(_CAPABILITY)}


def capabilities_of(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the capabilities in a node's ``properties``: ``name:value,name:value``, or an object.

    A value may have colons. Parts without a name, or without a colon, are left out.
    """
    capabilities = properties.get("capabilities")
    if isinstance(capabilities, Mapping):
        return {str(name): str(value) for name, value in capabilities.items()}
    if not isinstance(capabilities, str):
        return {}
    pairs = (item.partition(":") for item in capabilities.split(","))
    return {name.strip(): value.strip() for name, colon, value in pairs if colon and name.strip()}


def unmet_capabilities(extra_specs: Mapping[str, str], properties: Mapping[str, Any]) -> list[str]:
    """Return the names of the capabilities that a flavor asks for and a node with these ``properties`` lacks.

    Values are compared as text.
    """
    has = capabilities_of(properties)
    return [name for name, value in required_capabilities(extra_specs).items() if has.get(name) != value]
