"""Tasks of a controller: work that it does by itself, with the progress that it reports."""

from dataclasses import dataclass
from typing import Literal

from sushy import exceptions

from baremetal_sched.drivers.redfish.documents import Answer, Document, Documents, link, links, objects, text

#: States of a task in progress. In all other states except ``Completed`` it has failed.
_GOES_ON = frozenset(("New", "Starting", "Running", "Suspended", "Pending", "Stopping", "Cancelling", "Service"))

_MOST_MESSAGES = 20


@dataclass(frozen=True)
class Progress:
    """The progress of a task. ``state`` is in the controller's words; ``messages`` are those of the task.

    ``gone``: the controller has forgotten the task, so its result is unknown.
    """

    outcome: Literal["busy", "done", "failed", "gone"]
    state: str = ""
    messages: str = ""


def path_of(answer: Answer) -> str | None:
    """Return the path of the task that a request began, or None if it began none that can be polled.

    The answer to a request has the task itself or nothing; ``Location`` is its monitor, which exists while it runs.
    """
    return link(answer.document) if _is_task(answer.document) else answer.location


def poll(documents: Documents, path: str) -> Progress:
    """Return the progress of the task at a path, of the task itself or of its monitor. Raises sushy's errors."""
    try:
        answer = documents.ask(path)
    except exceptions.ResourceNotFoundError:
        return Progress("gone")
    if not _is_task(answer.document):
        return Progress("busy" if answer.status == 202 else "done")
    return _progress(answer.document)


def known(documents: Documents) -> list[str] | None:
    """Return the paths of all tasks of the controller; None if it does not list them. Raises sushy's errors."""
    service = documents.find(link(documents.find(documents.root), "Tasks"))
    collection = documents.find(link(service, "Tasks"))
    return None if collection is None else links(collection, "Members")


def said_in(messages: object) -> list[str]:
    """Return the texts of messages, as the standard defines them, or the names of messages without a text."""
    found = []
    for each in objects(messages)[:_MOST_MESSAGES]:
        said = text(each.get("Message"))
        if said is None or said.lower() in ("unknown", "unknown error"):
            said = text(each.get("MessageId"))
        if said is not None and said not in found:
            found.append(said)
    return found


def _is_task(document: Document) -> bool:
    state = document.get("TaskState")
    if state is not None and not isinstance(state, str):
        raise ValueError("a task whose state is not a string")
    return state is not None


def _progress(task: Document) -> Progress:
    state, status = str(task["TaskState"]), task.get("TaskStatus")
    messages = "; ".join(said_in(task.get("Messages")))
    if state in _GOES_ON:
        return Progress("busy", state, messages)
    if state == "Completed" and status in ("OK", "Warning", None):
        return Progress("done", state, messages)
    return Progress("failed", state, messages)
