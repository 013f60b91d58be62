"""Where our nodes and commands differ from Ironic's on purpose: patterns of stories and of the names of what was seen,
each with the reason. Everything else must be equal.

`api-ref/baremetal/known_differences.rst` has them for people.
"""

DIFFERENCES = (
    (
        "deployed|config_drive|hash_of_os|partition|forced_reboot|failed_deployment|failed_boot_loader",
        r"deployment: deploy.execute_deploy_step 1 step image_info id",
        "Agents write no image again that has the same id. So the id depends on the whole URL and the checksum.",
    ),
    (
        "config_drive",
        r"deployment: deploy.execute_deploy_step 1 step image_info configdrive",
        "Ironic tells agents the config drive three times. They read the argument of the step.",
    ),
    (
        r"failed_deployment|failed_cleaning|failed_boot_loader",
        r"(cleaning|deployment): (commands|log.collect_system_logs 1 keys)",
        "Logs of agents are not collected.",
    ),
    (
        "failed_deployment",
        "deployment: complains",
        "Ironic loses what it has said about the failure when it switches the machine off.",
    ),
    ("failed_boot_loader", "deployment: disc", "Ironic ejects the disc after some failures only."),
    (
        "failed_cleaning|unknown_step|agent_without_sense|aborted_.*",
        r"(abort|cleaning): (power_state|machine|disc)",
        "A machine is left on, with the agent's disc, if cleaning has failed, or if an operation was aborted.",
    ),
    (
        "stays_on",
        r"(deploy|deployment): .*",
        "Ironic deploys no machine by virtual media that must not be switched off.",
    ),
    (
        "manual_cleaning|rebooted",
        r"cleaning: (commands|clean.get_clean_steps 2 .*)",
        "An agent is asked for its steps whenever it has been booted. Ironic does not boot a machine again after a "
        "step that a client named.",
    ),
    (
        "changed_managers_in_deployment",
        "deployment: .*",
        "Ironic leaves out the step that the agent has refused: the node is active without an image.",
    ),
)
