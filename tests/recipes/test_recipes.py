"""Recipes fit the project as it is; followed in a copy, the tests that they name pass."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recipes.recipe import PAGES, ROOT, changes, commands

#: What a copy has of the project.
_COPIED = (
    *("baremetal_sched", "migrations", "tests", "api-ref", "pyproject.toml", "alembic.ini"),
    *("README.md", "CONTRIBUTING.md"),
)

#: Pages that other tests follow: ``tests/clients/test_driver_package.py`` and ``test_long_step.py``.
_OTHERS = {"driver", "long_step"}
RECIPES = sorted(page.stem for page in PAGES.glob("*.rst") if page.stem not in _OTHERS and changes(page.stem))


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_fits(recipe: str) -> None:
    """Each place that it changes is there, once, and what comes of it can be read."""
    files: dict[str, str | None] = {}
    for change in changes(recipe):
        path = ROOT / change.path
        before = files.setdefault(change.path, path.read_text() if path.exists() else None)
        files[change.path] = change.apply(before)
    for path, text in files.items():
        if path.endswith(".py"):
            ast.parse(text or "", path)
            assert max(len(line) for line in (text or "").splitlines()) <= 120, path


@pytest.mark.ci
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_works(recipe: str, tmp_path: Path) -> None:
    """Its commands end well in a copy of the project."""
    for name in _COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, tmp_path / name)
    for change in changes(recipe):
        file = tmp_path / change.path
        text = change.apply(file.read_text() if file.exists() else None)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    ran = commands(recipe)
    assert ran
    for command in ran:
        _run(command, tmp_path)


def _run(command: str, folder: Path) -> None:
    """Run what a page says to run, with the programs of this environment."""
    programs = {"pytest": f"{sys.executable} -m pytest -q -n0 -x"}
    folder_of_programs = Path(sys.executable).parent
    command = re.sub(
        r"\.venv/bin/([\w-]+)", lambda found: programs.get(found[1], f"{folder_of_programs}/{found[1]}"), command
    )
    environment = {**os.environ, "PYTHONPATH": str(folder), "TEST_DATABASE_URLS": "", "TMPDIR": str(folder)}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
