"""Drivers: the hardware types and interfaces that a conductor has enabled."""

from oslo_config import cfg

INTERFACE_TYPES = (
    *("bios", "boot", "console", "deploy", "firmware", "inspect", "management", "network", "power", "raid", "rescue"),
    *("storage", "vendor"),
)

ENABLED: list[cfg.Opt] = [
    cfg.ListOpt(
        "enabled_hardware_types",
        default=["fake-hardware", "manual-management"],
        help="Hardware types that this conductor serves.",
    ),
    *(
        option
        for kind in INTERFACE_TYPES
        for option in (
            cfg.ListOpt(f"enabled_{kind}_interfaces", help=f"The {kind} interfaces that nodes may have here."),
            cfg.StrOpt(f"default_{kind}_interface", help=f"The {kind} interface of a node that names none."),
        )
    ),
]
