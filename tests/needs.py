"""The tests that a change needs: the folders and files of tests for each part of the project (``pytest --for PATHS``).

Tests of the first two tiers only. The longest prefix of a path counts; a path without one needs everything.
"""

_UNIT = ("tests/unit",)
_BAREMETAL = (*_UNIT, "tests/functional/baremetal", "tests/functional/test_projection.py")
_DRIVERS = (*_UNIT, "tests/functional/baremetal", "tests/functional/conductor")
_PLACEMENT = (
    *_UNIT,
    "tests/functional/placement",
    "tests/functional/test_projection.py",
    "tests/database",
    "tests/races",
)
_WAITING = (
    "tests/functional/scheduling",
    "tests/functional/compute",
    "tests/races",
    "tests/database/test_doors_properties.py",
)
_COMMANDS = (*_UNIT, "tests/clients", "tests/functional/test_demo.py", "tests/functional/test_db_command.py")
_ALL = ("tests",)

NEEDS: dict[str, tuple[str, ...]] = {
    ".ci/": _UNIT,
    "CHANGELOG.md": _UNIT,
    "CONTRIBUTING.md": _UNIT,
    "README.md": (*_UNIT, "tests/clients/test_readme.py"),
    "api-ref/": (
        *_UNIT,
        "tests/functional/examples",
        "tests/recipes",
        "tests/clients/osc/test_guide.py",
        "tests/clients/osc/test_domains.py",
        "tests/clients/osc/test_webhooks.py",
    ),
    "findings/": _UNIT,
    "migrations/": (
        *_UNIT,
        "tests/database",
        "tests/functional/test_schema_guard.py",
        "tests/functional/test_db_command.py",
    ),
    "baremetal_sched/": _ALL,  # what all parts use: settings, errors, logs, the wiring
    "baremetal_sched/baremetal/": (
        *_BAREMETAL,
        "tests/functional/conductor",
        "tests/conformance",
        "tests/database",
        *_WAITING,
    ),
    "baremetal_sched/baremetal/api/": (*_BAREMETAL, "tests/functional/test_two_tenants.py", "tests/functional/tenants"),
    "baremetal_sched/baremetal/inspection/": _DRIVERS,
    "baremetal_sched/baremetal/network/": _BAREMETAL,
    "baremetal_sched/baremetal/hardware/": _DRIVERS,
    "baremetal_sched/cli/": (
        *_COMMANDS,
        "tests/functional/test_user_command.py",
        "tests/functional/test_policy_command.py",
    ),
    "baremetal_sched/commands.py": _COMMANDS,
    "baremetal_sched/members.py": _COMMANDS,
    "baremetal_sched/compute/": (
        *_UNIT,
        *_WAITING,
        "tests/conformance/compute",
        "tests/functional/ui",
        "tests/functional/tenants",
    ),
    "baremetal_sched/conductor/": (*_DRIVERS, "tests/fault", "tests/functional/scheduling", "tests/races"),
    "baremetal_sched/db/": _ALL,
    "baremetal_sched/documents/": _ALL,
    "baremetal_sched/drivers/": _DRIVERS,
    "baremetal_sched/drivers/redfish/": (*_DRIVERS, "tests/functional/redfish"),
    "baremetal_sched/explain/": (*_UNIT, "tests/functional/scheduling", "tests/functional/ui", "tests/database"),
    "baremetal_sched/errors/": _ALL,
    "baremetal_sched/image/": (*_UNIT, "tests/functional/image", "tests/functional/compute", "tests/conformance/image"),
    "baremetal_sched/machines/": (*_DRIVERS, "tests/functional/redfish"),
    "baremetal_sched/moving/": (*_UNIT, "tests/moving"),
    "baremetal_sched/options/": _ALL,
    "baremetal_sched/osc/": (*_UNIT, "tests/clients"),
    "baremetal_sched/placement/": (
        *_PLACEMENT,
        "tests/functional/scheduling",
        "tests/functional/compute",
        "tests/conformance",
    ),
    "baremetal_sched/placement/api/": _PLACEMENT,
    "baremetal_sched/scheduling/": (
        *_UNIT,
        *_WAITING,
        "tests/functional/baremetal",
        "tests/database",
        "tests/functional/ui",
    ),
    "baremetal_sched/server/": (*_UNIT, "tests/clients", "tests/functional/test_listener.py"),
    "baremetal_sched/ui/": (*_UNIT, "tests/functional/ui", "tests/database/test_doors_properties.py"),
    "baremetal_sched/web/": _ALL,
    "baremetal_sched/wsgi.py": (*_UNIT, "tests/clients"),
    "baremetal_sched/gunicorn_config.py": (*_UNIT, "tests/clients"),
}
