"""Files of keys, and services that have one or none."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.functional.secrets_at_rest.story import new_key, write_keys
from tests.service import Service


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """A file with one key."""
    path = tmp_path / "keys"
    write_keys(path, new_key())
    return path


@pytest.fixture
def serve(database_url: str, tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Makes services over one database, each with a conductor of its own."""
    made: list[Service] = []

    def make(path: Path | None = None, rules: dict[str, str] | None = None, **settings: Any) -> Service:
        if rules is not None:
            file = tmp_path / f"policy{len(made)}.json"
            file.write_text(json.dumps(rules))
            settings["oslo_policy"] = {"policy_file": str(file)}
        if path is not None:
            settings["database"] = {"secrets_key_file": str(path)}
        service = Service(database_url, **settings)
        made.append(service)
        service.add_conductor("c1")
        return service

    yield make
    for service in made:
        service.close()
