"""Options of agents: how conductors talk to them, and how they deploy and clean."""

from oslo_config import cfg

OPTIONS: dict[str, list[cfg.Opt]] = {
    "agent": [
        cfg.BoolOpt(
            "require_tls", default=False, help="Refuse the heartbeats of agents that cannot be reached by HTTPS."
        ),
        cfg.BoolOpt(
            "stream_raw_images",
            default=True,
            help="Let agents write images of the format ``raw`` to the disk while they get them, instead of keeping "
            "them in memory first. The checksum is then compared after the disk was written.",
        ),
        cfg.BoolOpt(
            "allow_md5_checksum",
            default=True,
            help="Accept MD5 checksums of images that agents write. As in Ironic, the default is true; set it to false "
            "if every image has a checksum of SHA-256 or SHA-512.",
        ),
        cfg.BoolOpt(
            "enable_bios_bootloader_install",
            default=False,
            help="Let agents install a boot loader for the boot mode bios on images of a partition.",
        ),
        cfg.StrOpt(
            "tls_minimum_version",
            default="1.3",
            choices=["1.2", "1.3"],
            help="Oldest version of TLS for connections to agents, and from agents.",
        ),
        cfg.StrOpt(
            "tls_ciphers",
            help="Ciphers of TLS 1.2 for connections to agents, and from agents. By default each program has its own.",
        ),
        cfg.StrOpt(
            "verify_ca",
            default="True",
            help="Certificates for HTTPS with agents that send none of their own: a file or folder; True: the "
            "system's authorities; False: accept any certificate.",
        ),
        cfg.IntOpt("command_timeout", default=60, min=1, help="Maximum seconds of one request to an agent."),
        cfg.IntOpt(
            "command_run_timeout",
            default=0,
            min=0,
            help="Seconds after which a command that an agent still executes has failed; 0: no limit.",
        ),
        cfg.IntOpt(
            "post_deploy_get_power_state_retries",
            default=6,
            min=0,
            help="Number of checks whether a machine that its agent shuts down is off; after that it is switched off.",
        ),
        cfg.IntOpt(
            "post_deploy_get_power_state_retry_interval", default=5, min=0, help="Seconds between two of these checks."
        ),
    ],
    "deploy": [
        cfg.BoolOpt(
            "power_off_after_deploy_failure",
            default=True,
            help="Switch a machine off if its deployment by an agent has failed.",
        ),
        cfg.IntOpt(
            "erase_devices_priority",
            min=0,
            help="Priority of the agent's step that erases all disks in automated cleaning; 0: the step is left out. "
            "Default: the agent's own priority.",
        ),
        cfg.IntOpt(
            "erase_devices_metadata_priority",
            min=0,
            help="Priority of the agent's step that erases partition tables and other metadata of disks in automated "
            "cleaning; 0: the step is left out. Default: the agent's own priority.",
        ),
        cfg.IntOpt(
            "shred_random_overwrite_iterations",
            default=1,
            min=0,
            help="Number of times that erasing overwrites a disk with random data.",
        ),
        cfg.BoolOpt(
            "shred_final_overwrite_with_zeros", default=True, help="Erasing overwrites a disk with zeros at the end."
        ),
        cfg.BoolOpt(
            "continue_if_disk_secure_erase_fails",
            default=False,
            help="Overwrite a disk whose own secure erase fails, instead of failing.",
        ),
        cfg.BoolOpt("enable_ata_secure_erase", default=True, help="Erase ATA disks by their own secure erase."),
        cfg.BoolOpt("enable_nvme_secure_erase", default=True, help="Erase NVMe disks by their own secure erase."),
        cfg.IntOpt("disk_erasure_concurrency", default=4, min=1, help="Number of disks erased at the same time."),
        cfg.BoolOpt("erase_skip_read_only", default=False, help="Leave read-only disks out instead of failing."),
        cfg.BoolOpt(
            "fast_track",
            default=False,
            help="Let agents wait on machines in ``enroll``, ``manageable`` and ``available``, and let the next "
            "cleaning or deployment use them there, without booting the machine. ``fast_track`` in the "
            "``driver_info`` of a node takes precedence.",
        ),
        cfg.IntOpt(
            "fast_track_timeout",
            default=300,
            min=0,
            max=300,
            help="Seconds for which a waiting agent is assumed to be running after its last heartbeat; at most 300.",
        ),
    ],
    "metrics": [
        cfg.StrOpt(
            "agent_backend",
            default="noop",
            choices=["noop", "statsd"],
            help="Where agents send their metrics: ``noop`` or ``statsd``.",
        ),
        cfg.BoolOpt("agent_prepend_host", default=False, help="Names of agents' metrics contain the host name."),
        cfg.BoolOpt("agent_prepend_uuid", default=False, help="Names of agents' metrics contain the UUID of the node."),
        cfg.BoolOpt(
            "agent_prepend_host_reverse",
            default=True,
            help="The host name in names of agents' metrics is split at its dots, and reversed.",
        ),
        cfg.StrOpt("agent_global_prefix", help="All names of agents' metrics begin with this."),
    ],
    "metrics_statsd": [
        cfg.HostAddressOpt("agent_statsd_host", default="localhost", help="Host to which agents send metrics."),
        cfg.PortOpt("agent_statsd_port", default=8125, help="Port of that host."),
    ],
    "agent_containers": [
        cfg.BoolOpt(
            "allow_arbitrary_containers", default=False, help="Let steps of agents run any container, listed or not."
        ),
        cfg.ListOpt("allowed_containers", default=[], help="Images of containers that steps of agents may run."),
        cfg.StrOpt(
            "container_steps_file",
            default="/etc/ironic-python-agent.d/mysteps.yaml",
            help="File of the agent's system that describes steps which run containers.",
        ),
        cfg.StrOpt("runner", default="podman", choices=["podman", "docker"], help="What runs containers of agents."),
        cfg.ListOpt("pull_options", default=[], help="Options with which the runner gets images of containers."),
        cfg.ListOpt(
            "run_options", default=["--rm", "--network=host"], help="Options with which the runner runs containers."
        ),
    ],
}
