"""A dictionary that knows which of its members were read."""

from typing import Any


class Recorder(dict[str, Any]):
    """``read`` has the names that were looked up by ``get`` or by index."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.read: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)
