"""Which answers count as equal, and where we differ on purpose."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.conformance.differential.calls import Answer, Call
from tests.conformance.differential.world import AGGREGATES, CONSUMERS, PROVIDERS

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KNOWN = {*PROVIDERS, *CONSUMERS, *AGGREGATES}
_HOST = re.compile(r"^https?://[^/]+")

#: Headers whose value must be the same, and headers that must only be present.
_VALUES = ("allow", "cache-control", "content-type", "location", "openstack-api-version", "vary")
_NAMES = ("last-modified", "x-openstack-request-id")


@dataclass(frozen=True)
class Difference:
    """``aspect``: status, header:NAME, code, detail or body; and what each side has there."""

    aspect: str
    ours: Any
    original: Any


def compare(call: Call, ours: Answer, original: Answer) -> list[Difference]:
    """The unintended differences."""
    return [
        difference
        for difference in _differences(call, ours, original)
        if not any(deviation.explains(call, difference, ours, original) for deviation in DEVIATIONS)
    ]


def _differences(call: Call, ours: Answer, original: Answer) -> list[Difference]:
    sides = [_aspects(call, answer) for answer in (ours, original)]
    names = dict.fromkeys([*sides[0], *sides[1]])
    return [
        Difference(name, sides[0].get(name), sides[1].get(name))
        for name in names
        if sides[0].get(name) != sides[1].get(name)
    ]


def _aspects(call: Call, answer: Answer) -> dict[str, Any]:
    aspects: dict[str, Any] = {"status": answer.status}
    for name in _VALUES:
        aspects[f"header:{name}"] = _anonymous(_HOST.sub("", answer.headers.get(name, "")))
    for name in _NAMES:
        aspects[f"header:{name}"] = name in answer.headers
    document = answer.json
    match document:
        case {"errors": [{"detail": detail, **rest}]}:
            rest.pop("request_id", None)
            aspects["code"] = rest.pop("code", None)
            aspects["detail"] = _detail(detail)
            aspects["error"] = rest
        case None:
            # Errors as HTML or plain text: the message proper is compared where they are JSON.
            text = re.split("<br />|\n\n", answer.body)[0] if answer.status >= 400 else answer.body
            aspects["text"] = " ".join(_anonymous(text).split())
        case {"allocation_requests": list(requests)} if call.has_limit:
            # Which ones is up to each side (``compare_part``).
            aspects["body"] = f"{len(requests)} candidates"
        case _:
            aspects["body"] = _sorted(json.loads(_anonymous(answer.body)))
    return aspects


def compare_part(ours: Answer, whole: Answer) -> list[Difference]:
    """Is our answer to a request with a limit a part of ``whole``, the original's answer to the same without it?

    The candidates may be any; the summaries must be those of their trees (before 1.29, of their providers).
    """
    part, whole_document = (_sorted(json.loads(_anonymous(answer.body))) for answer in (ours, whole))
    there = Counter(map(_text, whole_document["allocation_requests"]))
    there.subtract(map(_text, part["allocation_requests"]))
    strangers = [text for text, count in there.items() if count < 0]
    if strangers:
        return [Difference("body", strangers, f"not among {len(whole_document['allocation_requests'])} candidates")]
    summaries = whole_document["provider_summaries"]
    used = {uuid for request in part["allocation_requests"] for uuid in _providers(request)}
    roots = {summaries[uuid].get("root_provider_uuid", uuid) for uuid in used}
    expected = {
        uuid: summary for uuid, summary in summaries.items() if summary.get("root_provider_uuid", uuid) in roots
    }
    if part["provider_summaries"] != expected:
        return [Difference("body", part["provider_summaries"], expected)]
    return []


def _text(document: Any) -> str:
    return json.dumps(document, sort_keys=True)


def _providers(request: Any) -> list[str]:
    allocations = request["allocations"]
    return list(allocations) if isinstance(allocations, dict) else [a["resource_provider"]["uuid"] for a in allocations]


def _anonymous(text: str) -> str:
    """``text`` without UUIDs that a side made up."""
    return _UUID.sub(lambda match: match[0] if match[0] in _KNOWN else "<uuid>", text)


def _detail(text: str) -> str:
    """A message, without what the jsonschema library adds in explanation: the keyword and the place stay."""
    text = _anonymous(text)
    return re.sub(r"(Failed validating .*?):     .*", r"\1", text, flags=re.DOTALL)


def _sorted(document: Any) -> Any:
    """``document`` with every list sorted."""
    match document:
        case dict():
            return {name: _sorted(value) for name, value in document.items()}
        case list():
            return sorted((_sorted(item) for item in document), key=_text)
    return document


# -- where we differ on purpose ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deviation:
    """Differences of ``aspects`` (none: of any) that are wanted if ``when(call, difference, ours, original)``."""

    reason: str
    aspects: tuple[str, ...]
    when: Callable[[Call, Difference, Answer, Answer], bool]

    def explains(self, call: Call, difference: Difference, ours: Answer, original: Answer) -> bool:
        """Is the difference this one?"""
        return (not self.aspects or difference.aspect in self.aspects) and self.when(call, difference, ours, original)


def _words(text: str | None) -> list[str]:
    return sorted(re.findall(r"[\w-]+", text or ""))


def _message(answer: Answer) -> str:
    match answer.json:
        case {"errors": [{"detail": str(detail)}]}:
            return detail
    return answer.body if answer.status >= 400 else ""


def _both_say(*texts: str) -> Callable[[Call, Difference, Answer, Answer], bool]:
    """Both have the same status and one of ``texts`` in their messages."""
    return lambda call, difference, ours, original: (
        ours.status == original.status and any(text in _message(ours) and text in _message(original) for text in texts)
    )


def _has_vague_group(call: Call) -> bool:
    """Is there a group that asks for no resources, and for a tree, or just for what a provider must not have?"""
    path, _, query = call.path.partition("?")
    given = dict(part.partition("=")[::2] for part in query.split("&"))
    groups: dict[str, set[str]] = {}
    for name, value in given.items():
        match = re.fullmatch(r"(resources|required|member_of|in_tree)(.+)", name)
        if match:
            forbids = all(item.strip().startswith("!") for item in value.split(","))
            groups.setdefault(match[2], set()).add("forbidden" if forbids else match[1])
    return path == "/allocation_candidates" and any(
        "resources" not in kinds and ("in_tree" in kinds or kinds <= {"forbidden"}) for kinds in groups.values()
    )


def _frees_somebody(call: Call) -> bool:
    """Does the write empty a consumer?"""
    body = call.body
    if isinstance(body, dict) and call.path.startswith("/reshaper"):
        body = body.get("allocations")
    return isinstance(body, dict) and any(
        isinstance(write, dict) and write.get("allocations") == {} for write in body.values()
    )


#: Every difference that is wanted, with the reason.
DEVIATIONS = (
    Deviation(
        "names that the original joins in the order of a hash table",
        ("detail",),
        lambda call, difference, ours, original: _words(difference.ours) == _words(difference.original),
    ),
    Deviation(
        "[O] the original forgets `vary` on errors that its handlers did not raise; such answers differ by version too",
        ("header:vary",),
        lambda call, difference, ours, original: original.status >= 400 and difference.original == "",
    ),
    Deviation(
        "[O] section 13: the original words an unknown provider differently in each handler, mostly saying it twice",
        ("detail",),
        _both_say("No resource provider with uuid"),
    ),
    Deviation(
        "the original has words around it, and the text of a Python exception",
        ("detail",),
        _both_say("invalid version string: ", "Unacceptable version header: "),
    ),
    Deviation(
        "24.16: the text of a 401 comes from WebOb, HTML in JSON included",
        ("body", "text"),
        lambda call, difference, ours, original: ours.status == original.status == 401,
    ),
    Deviation(
        "[O] section 12: if name and uuid are both taken, the original on SQLite names one of them, we name both",
        ("detail",),
        _both_say("Conflicting resource provider"),
    ),
    Deviation(
        "[O] 23.3: for a scope failure the original just says the name of the policy",
        ("detail",),
        lambda call, difference, ours, original: ours.status == original.status == 403,
    ),
    Deviation(
        "[O] what is said about a class whose name is none: we check it like the others, the original not at all, and "
        "may fail (500) later",
        (),
        lambda call, difference, ours, original: (
            ours.status == 400 and "['inventories']['additionalProperties']" in _message(ours)
        ),
    ),
    Deviation(
        "the original fails (with a KeyError, whose text is the id of a row) if a provider that shares is not a root; "
        "we may refuse a name that it did not come to",
        (),
        lambda call, difference, ours, original: (
            (ours.status == 200 or "No such" in _message(ours))
            and original.status == 500
            and call.path.startswith("/allocation_candidates?")
            and re.search(r"\n\n \d+\s*$", _message(original)) is not None
        ),
    ),
    Deviation(
        "of several names that are unknown, which one is said first depends on the order in which groups are looked at",
        ("detail",),
        lambda call, difference, ours, original: (
            ours.status == original.status == 400 and "No such" in _message(ours) and "No such" in _message(original)
        ),
    ),
    Deviation(
        "24.8: PUT of a provider that was never updated before: we know when it was, now",
        ("header:last-modified",),
        lambda call, difference, ours, original: call.method == "PUT" and ours.status == original.status == 200,
    ),
    Deviation(
        "the same in other words, or more of it: we show all of a value, and all classes that are unknown",
        ("detail",),
        _both_say(
            "parent provider UUID cannot be same as UUID.",
            "parameter to contain valid UUID(s). Got:",
            "No such resource class ",
            "No such trait(s): ",
            "The method DELETE is not allowed for this resource.",
        ),
    ),
    Deviation(
        "what is said first of claims of which several are too much: the original counts what an emptied consumer held "
        "among what is asked for",
        ("detail",),
        lambda call, difference, ours, original: (
            _frees_somebody(call) and _both_say("Unable to allocate inventory: ")(call, difference, ours, original)
        ),
    ),
    Deviation(
        "[O] section 10: bytes that are not UTF-8; the original shows the text of a Python exception",
        ("detail",),
        lambda call, difference, ours, original: ours.status == original.status == 400 and "%FF" in call.path,
    ),
    Deviation(
        "24.9: in a group without resources the original ignores in_tree, and finds nothing that just lacks something",
        ("body",),
        lambda call, difference, ours, original: _has_vague_group(call),
    ),
    Deviation(
        "[O] section 12: the original calls an update a creation",
        ("detail",),
        _both_say("parent provider UUID does not exist."),
    ),
    Deviation(
        "24.6: the original shows the text of the database error, SQL included",
        ("detail",),
        _both_say("Update conflict: "),
    ),
    Deviation(
        "a query string that is not UTF-8 is the client's mistake on every path; the original fails on one",
        (),
        lambda call, difference, ours, original: (
            (ours.status, original.status) == (400, 500) and "%FF" in call.path and call.path.startswith("/usages")
        ),
    ),
    Deviation(
        "24.10: an unknown name goes unnoticed once another group has found nothing; we refuse what is unknown",
        (),
        lambda call, difference, ours, original: (
            call.path.startswith("/allocation_candidates?")
            and ("No such trait(s)" in _message(ours) or "No such resource class" in _message(ours))
            and original.status == 200
            and original.json == {"allocation_requests": [], "provider_summaries": {}}
        ),
    ),
)
