"""Machines for tests of the driver, and programs that stand for ipmitool."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

OPTIONS = {
    "command_retry_timeout": 3,
    "min_command_interval": 0,
    "use_ipmitool_retries": False,
    "disable_boot_timeout": True,
    "additional_retryable_ipmi_errors": [],
    "store_cred_in_env": False,
    "cipher_suite_versions": [],
}


def machine(driver_info: dict[str, Any], node: dict[str, Any] | None = None, **options: Any) -> Any:
    """A machine with these columns, and options of ``[ipmi]``."""
    conductor = SimpleNamespace(answer_timeout=30, power_state_change_timeout=3, soft_power_off_timeout=3)
    return SimpleNamespace(
        **{
            "uuid": "u1",
            "driver": "ipmi",
            "driver_info": driver_info,
            "driver_internal_info": {},
            "properties": {},
            "instance_info": {},
            "boot_mode": None,
            "disable_power_off": False,
            **(node or {}),
        },
        settings=SimpleNamespace(ipmi=SimpleNamespace(**{**OPTIONS, **options}), conductor=conductor),
    )


def put_program(folder: Path, text: str) -> None:
    """Make ``ipmitool`` a shell script."""
    program = folder / "ipmitool"
    program.write_text(f"#!/bin/bash\n{text}\n")
    program.chmod(0o755)
