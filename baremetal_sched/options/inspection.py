"""Options of inspections: hooks, auto-discovery and inspection rules."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "inspector": [
        cfg.StrOpt(
            "add_ports",
            default="pxe",
            choices=["all", "active", "pxe", "disabled"],
            help="Found interfaces that become ports: all, those with an IP address, the one booted from, none.",
        ),
        cfg.StrOpt(
            "keep_ports",
            default="all",
            choices=["all", "present", "added"],
            help="Existing ports that a node keeps: all, those of found interfaces, those of add_ports.",
        ),
        cfg.BoolOpt(
            "update_pxe_enabled",
            default=True,
            help="Set pxe_enabled of ports according to the interface that the machine booted from.",
        ),
        cfg.BoolOpt(
            "pre_create_ports",
            default=True,
            help="Before an agent inspects a machine, create ports from the MAC addresses its controller reports.",
        ),
        cfg.BoolOpt("power_off", default=True, help="Power a machine off after its agent has reported an inspection."),
        cfg.StrOpt(
            "default_hooks",
            default="ramdisk-error,validate-interfaces,ports,architecture",
            help="Hooks used if hooks is not set.",
        ),
        cfg.StrOpt("hooks", default="$default_hooks", help="Inspection hooks run on an agent's report, in this order."),
        cfg.DictOpt(
            "cpu_capabilities",
            default={
                "vmx": "cpu_vt",
                "svm": "cpu_vt",
                "aes": "cpu_aes",
                "pse": "cpu_hugepages",
                "pdpe1gb": "cpu_hugepages_1g",
                "smx": "cpu_txt",
            },
            help="Capabilities that the hook cpu-capabilities sets, by CPU flag.",
        ),
        cfg.MultiStrOpt(
            "pci_device_alias",
            default=[],
            help="PCI device that the hook pci-devices counts: a JSON object with vendor_id, product_id, name.",
        ),
        cfg.ListOpt(
            "physical_network_cidr_map",
            default=[],
            help="Physical networks by CIDR for the hook physical-network, such as 10.1.0.0/16:physnet1.",
        ),
        cfg.BoolOpt(
            "disk_partitioning_spacing",
            default=True,
            help="For the hook root-device: set local_gb 1 GiB lower than the disk's size.",
        ),
        cfg.BoolOpt(
            "extra_hardware_strict",
            default=False,
            help="For the hook extra-hardware: discard the whole list if one of its entries is malformed.",
        ),
        cfg.StrOpt(
            "known_accelerators",
            help="For the hook accelerators: YAML file of PCI devices, which replaces the built-in list.",
        ),
    ],
    "auto_discovery": [
        cfg.BoolOpt("enabled", default=False, help="Enroll unknown machines when an agent reports them."),
        cfg.StrOpt("driver", help="Driver of nodes enrolled by auto-discovery."),
    ],
    "inspection_rules": [
        cfg.StrOpt(
            "built_in_rules", help="YAML file of inspection rules, which clients can neither change nor delete."
        ),
        cfg.StrOpt(
            "mask_secrets",
            default="always",
            choices=["always", "never", "sensitive"],
            help="Mask passwords and tokens from inspection rules. sensitive: only sensitive rules see them.",
        ),
        cfg.ListOpt(
            "allowed_hosts",
            default=[],
            help="Host names (or *.example.com), addresses and networks that api-call may call. Empty: no restriction.",
        ),
        cfg.BoolOpt(
            "allow_loopback",
            help="Allow loopback addresses in api-call and from agents. Default: if serve listens on loopback only.",
        ),
        cfg.IntOpt(
            "max_size",
            default=16 * 1024 * 1024,
            min=1024,
            help="Total bytes that the rules of one inspection may produce.",
        ),
        cfg.FloatOpt(
            "time_limit",
            default=30,
            min=0.1,
            help="Seconds that the rules of one inspection may run, not counting calls.",
        ),
    ],
}
