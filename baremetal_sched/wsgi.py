"""gunicorn's entry point: ``gunicorn -c python:baremetal_sched.gunicorn_config baremetal_sched.wsgi:app``.

Settings come from the environment, and from the files that ``BAREMETAL_SCHED_CONFIG`` names (separated by ``:``), or
else from /etc/baremetal-sched/baremetal-sched.conf.
"""

from gunicorn.errors import AppImportError
from oslo_config import cfg

from baremetal_sched import logs
from baremetal_sched.app import Application, create_app, settle
from baremetal_sched.auth_settings import require_strategy
from baremetal_sched.settings import default_files, load


def _application() -> Application:
    settings = load(default_files())
    logs.configure(settings)
    logs.log_settings(settings)
    require_strategy(settings)
    return create_app(settings)


try:
    app = _application()
except cfg.Error as error:
    # gunicorn logs this in one line, and stops.
    raise AppImportError(f"baremetal-sched: {error}") from None
settle()
