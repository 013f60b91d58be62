"""Our service as Placement's own test suite wants it: one application a file, in process or behind a URL.

``make_app(config)`` is the factory that the runner calls; the keys of ``config`` are those of its README.
"""

from collections.abc import Callable
from typing import Any

from baremetal_sched.app import with_middleware
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.api.edge import PlacementApi
from baremetal_sched.placement.names import sync_standard_names
from baremetal_sched.settings import load
from baremetal_sched.web.application import build


def settings_of(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The runner's words for options as ours."""
    settings: dict[str, dict[str, Any]] = {
        "api": {"auth_strategy": config["auth_strategy"]},
        "database": {"connection": config["db_url"]},
        "oslo_policy": {
            "enforce_new_defaults": config["enforce_new_defaults"],
            "policy_file": config.get("policy_file") or "/nonexistent/policy.yaml",
        },
        "placement": {
            "incomplete_consumer_project_id": config["incomplete_consumer_project_id"],
            "incomplete_consumer_user_id": config["incomplete_consumer_user_id"],
        },
    }
    if config.get("cors_allowed_origin"):
        settings["cors"] = {
            "allowed_origin": [config["cors_allowed_origin"]],
            "allow_headers": [config["cors_allow_headers"]],
        }
    return settings


def make_app(config: dict[str, Any]) -> tuple[Callable[..., Any], Callable[[], None]]:
    """The Placement API at the root, over ``config['db_url']``, which is made if need be; and what closes it."""
    settings = load(overrides=settings_of(config))
    database = Database(settings)
    schema.upgrade(database.engine)
    database.write(sync_standard_names)
    app = with_middleware(build(PlacementApi(settings), database), settings)
    return app, database.dispose
