"""Nova's results for given inputs."""

import json
from pathlib import Path
from typing import Any


def load(name: str) -> dict[str, Any]:
    """The document ``<name>_vectors.json``."""
    document: dict[str, Any] = json.loads((Path(__file__).parent / f"{name}_vectors.json").read_text())
    return document
