"""Cheaper imports. Importing the package installs this; it must stay cheap itself.

- While structlog is imported, the libraries are hidden that it would use for tracebacks on a terminal. We print plain
  ones: pretty ones show local variables, and with them secrets. Rich, and Pygments with it, takes as long to import as
  Flask.
- While the application is imported, the garbage collector rests, as modules stay. It does not look at them later.
"""

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

_HIDDEN = ("rich", "better_exceptions", "colorama")


@contextmanager
def _hiding() -> Iterator[None]:
    hidden = [name for name in _HIDDEN if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type] # None: an ImportError
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@contextmanager
def _without_collections() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()


_CARE: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "structlog": _hiding,
    "baremetal_sched.app": _without_collections,
}


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        with _CARE[module.__name__]():
            super().exec_module(module)


class _Finder:
    """Finds the modules of ``_CARE``, as Python would."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in _CARE else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """Take care of imports from now on."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
