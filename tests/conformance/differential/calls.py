"""A call, with generations that each side fills in as it knows them; and an answer."""

import json
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Generation:
    """The generation of a provider or a consumer that a side answered last, off by ``shift``."""

    kind: str
    uuid: str
    shift: int = 0

    def __repr__(self) -> str:
        return f"<generation of {self.kind} {self.uuid}{self.shift:+d}>"


@dataclass(frozen=True)
class Raw:
    """A body that is sent as it is."""

    text: str


@dataclass(frozen=True)
class Call:
    """``version`` None: no header. ``body`` None: no body; else JSON with Generations in it, or Raw."""

    method: str
    path: str
    version: str | None
    body: Any = None
    headers: tuple[tuple[str, str], ...] = (("X-Auth-Token", "admin"),)

    @property
    def minor(self) -> int:
        """The minor version that it asks for; 0 if it asks for none that there is."""
        major, _, minor = (self.version or "1.0").partition(".")
        return int(minor) if major == "1" and minor.isdecimal() else 0

    @property
    def shows_generation(self) -> bool:
        """Is it a look at one provider or consumer?"""
        return self.path.count("/") == 2 and self.path.startswith(("/resource_providers/", "/allocations/"))

    @property
    def has_limit(self) -> bool:
        """Does it ask for some candidates only?"""
        return self.path.startswith("/allocation_candidates?") and "limit=" in self.path

    def unlimited(self) -> "Call":
        """The same call without its limit."""
        path, _, query = self.path.partition("?")
        parts = [part for part in query.split("&") if not part.startswith("limit=")]
        return replace(self, path=f"{path}?{'&'.join(parts)}")

    def text(self, known: "Known") -> str | None:
        """The body as it is sent."""
        if self.body is None or isinstance(self.body, Raw):
            return self.body.text if self.body else None
        return json.dumps(known.fill(self.body))

    def __str__(self) -> str:
        body = "" if self.body is None else f" {self.body.text if isinstance(self.body, Raw) else self.body}"
        extra = [f"{name}: {value}" for name, value in self.headers if (name, value) != ("X-Auth-Token", "admin")]
        return f"{self.method} {self.path} [{self.version}]{body}{' ' + str(extra) if extra else ''}"


@dataclass
class Answer:
    """The answer; names of headers in lower case."""

    status: int
    headers: dict[str, str]
    body: str

    @property
    def json(self) -> Any:
        """The document, or None if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass
class Known:
    """Generations as one side answered them last."""

    generations: dict[tuple[str, str], int | None] = field(default_factory=dict)

    def fill(self, body: Any) -> Any:
        """``body`` with numbers in place of Generations."""
        match body:
            case Generation(kind, uuid, shift):
                latest = self.generations.get((kind, uuid), None if kind == "consumer" else 0)
                return latest if not shift else (latest or 0) + shift
            case dict():
                return {name: self.fill(value) for name, value in body.items()}
            case list():
                return [self.fill(item) for item in body]
        return body

    def learn(self, call: Call, answer: Answer) -> None:
        """Note the generations in an answer."""
        document = answer.json
        if answer.status >= 300 or not isinstance(document, dict):
            return
        parts = call.path.partition("?")[0].split("/")
        for provider in [document, *document.get("resource_providers", ())]:
            if "uuid" in provider and "generation" in provider:
                self.generations["provider", provider["uuid"]] = provider["generation"]
        if parts[1] == "resource_providers" and "resource_provider_generation" in document:
            self.generations["provider", parts[2]] = document["resource_provider_generation"]
            self._learn_holders(document.get("allocations"))
        if parts[1] == "allocations" and len(parts) > 2:
            for uuid, held in document["allocations"].items():
                self.generations["provider", uuid] = held["generation"]
            if "consumer_generation" in document or not document["allocations"]:
                self.generations["consumer", parts[2]] = document.get("consumer_generation")

    def _learn_holders(self, holders: Any) -> None:
        for uuid, holder in (holders or {}).items():
            if "consumer_generation" in holder:
                self.generations["consumer", uuid] = holder["consumer_generation"]
