"""Options of inspections: hooks, auto-discovery and inspection rules."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "inspector": [
        cfg.StrOpt(
            "add_ports",
            default="pxe",
            choices=["all", "active", "pxe", "disabled"],
            help="Which of the interfaces that were found become ports: ``all``, ``active`` (those with an IP "
            "address), ``pxe`` (the one from which the machine booted; all, if the agent does not know it), or "
            "``disabled`` (none).",
        ),
        cfg.StrOpt(
            "keep_ports",
            default="all",
            choices=["all", "present", "added"],
            help="Which of its ports a node keeps: ``all``, ``present`` (ports of interfaces that were found), or "
            "``added`` (ports that ``add_ports`` names).",
        ),
        cfg.BoolOpt(
            "update_pxe_enabled",
            default=True,
            help="Set ``pxe_enabled`` of the node's ports: true for the one from which the machine booted, false for "
            "the others.",
        ),
        cfg.BoolOpt(
            "pre_create_ports",
            default=True,
            help="Before an agent inspects a machine, create ports for the MAC addresses that its management "
            "controller knows, by which the agent finds its node. A fake machine has the addresses of the interfaces "
            "in ``fake_inventory`` of its ``driver_info``; a manually managed one has none.",
        ),
        cfg.BoolOpt(
            "power_off",
            default=True,
            help="Switch a machine off when its agent has reported an inspection; one with ``disable_power_off`` is "
            "rebooted.",
        ),
        cfg.StrOpt(
            "default_hooks",
            default="ramdisk-error,validate-interfaces,ports,architecture",
            help="The default of ``hooks``.",
        ),
        cfg.StrOpt(
            "hooks",
            default="$default_hooks",
            help="Inspection hooks that are run, in this order. Further hooks can be added to the default ones: "
            "``$default_hooks,cpus,memory``. A conductor does not start if a hook is unknown, or if a hook that "
            "another one needs before it is missing.",
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
            help="Capabilities that the hook ``cpu-capabilities`` sets, by flag of the CPU.",
        ),
        cfg.MultiStrOpt(
            "pci_device_alias",
            default=[],
            help='A PCI device that the hook ``pci-devices`` counts: ``{"vendor_id": "10de", "product_id": "1eb8", '
            '"name": "t4"}``. May be given several times.',
        ),
        cfg.ListOpt(
            "physical_network_cidr_map",
            default=[],
            help="Physical networks that the hook ``physical-network`` sets, by subnet: "
            "``10.1.0.0/16:physnet1,2001:db8::/64:physnet2``.",
        ),
        cfg.BoolOpt(
            "disk_partitioning_spacing",
            default=True,
            help="The hook ``root-device`` sets ``local_gb`` to 1 GiB less than the root device has, which "
            "partitioning may need.",
        ),
        cfg.BoolOpt(
            "extra_hardware_strict",
            default=False,
            help="If set, the hook ``extra-hardware`` drops all data if an entry does not have four parts; otherwise "
            "it drops only the shorter entries.",
        ),
        cfg.StrOpt(
            "known_accelerators",
            help="File of YAML with the PCI devices that the hook ``accelerators`` looks for: ``pci_devices`` is a "
            "list of objects with ``vendor_id``, ``device_id``, and other data to be shown. Without a file, the hook "
            "knows the NVIDIA GPUs that Ironic knows.",
        ),
    ],
    "auto_discovery": [
        cfg.BoolOpt(
            "enabled",
            default=False,
            help="Enrol unknown machines when their agents report an inspection. Anyone who can reach the API can then "
            "create nodes.",
        ),
        cfg.StrOpt("driver", help="Driver of nodes that are enrolled in this way. Required if ``enabled`` is set."),
    ],
    "inspection_rules": [
        cfg.StrOpt(
            "built_in_rules",
            help="YAML file with inspection rules that always apply, and cannot be changed through the API.",
        ),
        cfg.StrOpt(
            "mask_secrets",
            default="always",
            choices=["always", "never", "sensitive"],
            help="Whether inspection rules read asterisks instead of passwords and tokens: ``always``, ``never``, or "
            "``sensitive`` (unless the rule is sensitive).",
        ),
        cfg.ListOpt(
            "allowed_hosts",
            default=[],
            help="What the action ``api-call`` may call: names (``cmdb.example.com``, ``*.example.com``), addresses "
            "and networks. If the list is empty, every host may be called. Link-local addresses, loopback addresses, "
            "and addresses that are not those of a single machine are refused unless an address or a network in "
            "the list contains them, even if a name resolves to them. A name is resolved once, and the connection "
            "is made to the address that was checked; redirects are checked, too. A proxy resolves names itself "
            "and decides what may be reached. An agent's ``callback_url`` may not be one of these addresses "
            "either. Other hosts need not be listed for agents.",
        ),
        cfg.BoolOpt(
            "allow_loopback",
            help="Whether loopback addresses may be called, and agents may have them. If not set, they are allowed if "
            "``serve`` listens only on a loopback address.",
        ),
        cfg.IntOpt(
            "max_size",
            default=16 * 1024 * 1024,
            min=1024,
            help="The total number of bytes that the rules of one inspection may produce. If they need more, the "
            "inspection fails.",
        ),
        cfg.FloatOpt(
            "time_limit",
            default=30,
            min=0.1,
            help="The total number of seconds that the rules of one inspection may take; their calls have a separate "
            "limit.",
        ),
    ],
}
