"""Resource classes of nodes that are probably not what was meant."""

import structlog

from baremetal_sched.baremetal.provider.projection import resource_class_of

log = structlog.get_logger(__name__)

_PREFIX = "CUSTOM_"


def warning(resource_class: str | None) -> str | None:
    """Return what is surprising about a node's resource class, None if nothing is. Plain ASCII, without quotes."""
    if resource_class is None or not resource_class.upper().startswith(_PREFIX):
        return None
    name = resource_class_of(resource_class)
    return (
        f"In placement the resource class of this node is {name}, as every class of a node gets the prefix CUSTOM_. "
        f"Set it without its own CUSTOM_ if {name.removeprefix(_PREFIX)} is meant."
    )


def log_warning(node_uuid: str, resource_class: str | None) -> None:
    """Log ``warning`` for a class that a node was given."""
    if text := warning(resource_class):
        log.warning(text, node=node_uuid, resource_class=resource_class)
