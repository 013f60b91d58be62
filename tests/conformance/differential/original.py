"""OpenStack Placement on a loopback port, over a SQLite file: ``PYTHON original.py FOLDER``, with a Python that has it.

Says ``ready PORT``, and again after each line that it reads, for which it starts anew from an empty database.
"""

import copy
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

from oslo_config import cfg  # noqa: E402
from oslo_db.sqlalchemy import engines  # noqa: E402
from oslo_policy import opts as policy_opts  # noqa: E402
from placement import conf as placement_conf  # noqa: E402
from placement import db_api, deploy, policy  # noqa: E402
from placement.db.sqlalchemy import migration  # noqa: E402
from placement.objects import allocation_candidate, research_context, resource_class, trait  # noqa: E402
from serving import Served  # noqa: E402
from sqlalchemy import text  # noqa: E402

#: Consumers without allocations, which the original leaves behind when a write is refused or empty.
_LEFT_BEHIND = text("DELETE FROM consumers WHERE uuid NOT IN (SELECT consumer_id FROM allocations)")


def without_oddities() -> None:
    """Oddities 24.1 and 24.2 out of the way: they would hide everything else about requests that mix groups."""
    # Groups add up what they ask for in objects that other candidates have too.
    research_context.RequestWideSearchContext.copy_arr_if_needed = lambda self, resource: copy.copy(resource)
    # Of the same providers for the anchors of several trees, one is kept.
    allocation_candidate._alloc_candidates_multiple_providers = _telling_anchors_apart(
        allocation_candidate._alloc_candidates_multiple_providers
    )


def _telling_anchors_apart(search: Callable[..., Any]) -> Callable[..., Any]:
    request = allocation_candidate.AllocationRequest
    same = request.__eq__

    def with_anchor(one: Any, other: Any) -> bool:
        return one.anchor_root_provider_uuid == other.anchor_root_provider_uuid and same(one, other)

    def searching(*arguments: Any) -> Any:
        request.__eq__ = with_anchor
        try:
            return search(*arguments)
        finally:
            request.__eq__ = same

    return searching


class Original:
    """The application, made anew by ``reset``."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "original.sqlite"
        self._template: bytes | None = None
        self._engine: Any = None

    def reset(self) -> Any:
        """The WSGI application over a database that has nothing but the standard names."""
        first = self._template is None
        if self._engine is not None:
            self._restore()
            self._engine.dispose()
        if self._template is not None:
            self._path.write_bytes(self._template)
        url = f"sqlite:///{self._path}"
        self._engine = engines.create_engine(url, sqlite_synchronous=False)
        settings = self._settings(url)
        db_api.configure(settings)
        self._restore = db_api.placement_context_manager.patch_engine(self._engine)
        policy.reset()
        trait._TRAITS_SYNCED = resource_class._RESOURCE_CLASSES_SYNCED = not first
        if first:
            migration.create_schema(self._engine)
        app = deploy.loadapp(settings)
        if first:
            self._template = self._path.read_bytes()
        return self._tidying(app)

    @staticmethod
    def _settings(url: str) -> Any:
        settings = cfg.ConfigOpts()
        placement_conf.register_opts(settings)
        policy_opts.set_defaults(settings)
        settings.set_override("connection", url, group="placement_database")
        settings([], default_config_files=[])
        settings.set_override("auth_strategy", "noauth2", group="api")
        settings.set_override("enforce_new_defaults", False, group="oslo_policy")
        settings.set_override("policy_file", "/nonexistent/policy.yaml", group="oslo_policy")
        return settings

    def _tidying(self, app: Any) -> Any:
        """The application without its oddities 24.3 and 24.4, which would change what later calls are answered."""

        def tidied(environ: dict[str, Any], start_response: Any) -> Any:
            chunks = list(app(environ, start_response))
            if environ["REQUEST_METHOD"] in ("PUT", "POST"):
                with self._engine.begin() as connection:
                    connection.execute(_LEFT_BEHIND)
            return chunks

        return tidied


def main() -> None:
    without_oddities()
    original = Original(Path(sys.argv[1]))
    served = Served()
    while True:
        served.app = original.reset()
        print("ready", served.port, flush=True)
        if not sys.stdin.readline():
            break


if __name__ == "__main__":
    main()
