"""Options that enable hardware types and interfaces, and choose the default interfaces."""

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
            cfg.ListOpt(f"enabled_{kind}_interfaces", help=f"Enabled {kind} interfaces of nodes on this conductor."),
            cfg.StrOpt(f"default_{kind}_interface", help=f"Default {kind} interface of nodes that do not set one."),
        )
    ),
]
