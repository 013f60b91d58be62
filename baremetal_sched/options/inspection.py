"""Inspections: what is looked for, and what follows from it."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "inspector": [
        cfg.StrOpt(
            "add_ports",
            default="pxe",
            choices=["all", "active", "pxe", "disabled"],
            help="Interfaces found by an agent that become ports: all, with an IP address, booted from, none.",
        ),
        cfg.StrOpt(
            "keep_ports",
            default="all",
            choices=["all", "present", "added"],
            help="Ports that a node keeps: all, those of interfaces that were found, those that add_ports names.",
        ),
        cfg.BoolOpt(
            "update_pxe_enabled",
            default=True,
            help="Set pxe_enabled of ports by what their machine booted from.",
        ),
        cfg.BoolOpt(
            "pre_create_ports",
            default=True,
            help="Make ports of the addresses that management controllers know before an agent inspects a machine.",
        ),
        cfg.BoolOpt("power_off", default=True, help="Switch a machine off when its agent has reported an inspection."),
        cfg.StrOpt(
            "default_hooks",
            default="ramdisk-error,validate-interfaces,ports,architecture",
            help="What hooks is, if it is not set.",
        ),
        cfg.StrOpt(
            "hooks", default="$default_hooks", help="Inspection hooks that are run on what an agent reports, in order."
        ),
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
            help="Capability that the hook cpu-capabilities sets, by flag of the CPU.",
        ),
        cfg.MultiStrOpt(
            "pci_device_alias",
            default=[],
            help="A PCI device that the hook pci-devices counts: an object with vendor_id, product_id, name.",
        ),
        cfg.ListOpt(
            "physical_network_cidr_map",
            default=[],
            help="For the hook physical-network: entries such as 10.1.0.0/16:physnet1.",
        ),
        cfg.BoolOpt(
            "disk_partitioning_spacing",
            default=True,
            help="For the hook root-device: local_gb is 1 less than the size of the disk.",
        ),
        cfg.BoolOpt(
            "extra_hardware_strict",
            default=False,
            help="For the hook extra-hardware: drop the whole list if an entry is not as long as it has to be.",
        ),
        cfg.StrOpt(
            "known_accelerators",
            help="For the hook accelerators: file of YAML with PCI devices, instead of those that are known without.",
        ),
    ],
    "auto_discovery": [
        cfg.BoolOpt("enabled", default=False, help="Enrol machines that nobody knows when an agent reports them."),
        cfg.StrOpt("driver", help="Driver of nodes that are enrolled so."),
    ],
    "inspection_rules": [
        cfg.StrOpt("built_in_rules", help="File of YAML with inspection rules that are always there."),
        cfg.StrOpt(
            "mask_secrets",
            default="always",
            choices=["always", "never", "sensitive"],
            help="Do inspection rules see stars for passwords and tokens? sensitive: those that are not sensitive do.",
        ),
        cfg.ListOpt(
            "allowed_hosts",
            default=[],
            help="Names (*.example.com, too), addresses and networks that api-call may call. Empty: all usual ones.",
        ),
        cfg.BoolOpt(
            "allow_loopback",
            help="May api-call and agents name loopback addresses? Unless set: if serve listens on loopback only.",
        ),
        cfg.IntOpt(
            "max_size",
            default=16 * 1024 * 1024,
            min=1024,
            help="Bytes that the rules of one inspection may fill in and write, all together.",
        ),
        cfg.FloatOpt(
            "time_limit", default=30, min=0.1, help="Seconds that the rules of one inspection may take, without calls."
        ),
    ],
}
