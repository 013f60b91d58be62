"""gunicorn's entry point: ``gunicorn baremetal_sched.wsgi:app``.

Settings come from the environment, and from the files that ``BAREMETAL_SCHED_CONFIG`` names (separated by ``:``).
"""

import os

from baremetal_sched import logs
from baremetal_sched.app import create_app, settle
from baremetal_sched.settings import load

_settings = load([path for path in os.environ.get("BAREMETAL_SCHED_CONFIG", "").split(":") if path])
logs.configure(_settings)
app = create_app(_settings)
settle()
