"""Firmware updates, and the tasks that they are."""

import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

TASKS = "/redfish/v1/TaskService/Tasks"
MONITORS = "/redfish/v1/TaskService/TaskMonitors"


@dataclass
class Plan:
    """How an update goes: it runs for ``seconds``, ends in ``state`` with ``messages``.

    ``needs_reboot``: it waits in the state Starting until the machine is booted, and runs then. ``stages_only``: a
    reboot after its end brings the new version. ``vanishes``: the task is forgotten when it has ended.
    ``restarts_for``: the controller is away for so many seconds afterwards.
    """

    seconds: float = 0.05
    state: str = "Completed"
    status: str = "OK"
    messages: list[str] = field(default_factory=list)
    needs_reboot: bool = False
    stages_only: bool = False
    vanishes: bool = False
    restarts_for: float = 0.0


@dataclass
class Task:
    """An update that was asked for. ``begun`` is None while it waits for a reboot."""

    id: str
    component: str
    version: str
    plan: Plan
    begun: float | None = None
    is_over: bool = False

    @property
    def fraction(self) -> float:
        """How much of it is done."""
        if self.is_over:
            return 1.0
        return 0.0 if self.begun is None else min(1.0, (time.monotonic() - self.begun) / max(self.plan.seconds, 1e-9))

    def document(self) -> dict[str, Any]:
        """The task as a resource."""
        state = self.plan.state if self.is_over else ("Starting" if self.begun is None else "Running")
        said = (
            [{"MessageId": "Update.1.0.Said", "Message": text} for text in self.plan.messages] if self.is_over else []
        )
        return {
            "@odata.id": f"{TASKS}/{self.id}",
            "@odata.type": "#Task.v1_4_3.Task",
            "Id": self.id,
            "Name": f"Update of {self.component}",
            "TaskState": state,
            "TaskStatus": self.plan.status if self.is_over else "OK",
            "TaskMonitor": f"{MONITORS}/{self.id}",
            "PercentComplete": int(100 * self.fraction),
            "Messages": said,
        }


class Updates:
    """``plans`` has how the next updates go, the first one first; without one they go as Plan does by default.

    The component of an update is the first part of the file's name, ``bios-2.0.0.bin``; its version is the second.
    """

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self.tasks: list[Task] = []
        self.versions = {"bios": "1.0.0", "bmc": "1.0.0", "nic:NIC1": "1.0.0"}
        self.names_task = True
        self.lists_tasks = True
        self.needs_targets = False
        self.away_until = 0.0
        self._staged: dict[str, str] = {}

    @property
    def is_away(self) -> bool:
        """Is the controller being restarted?"""
        return time.monotonic() < self.away_until

    def begin(self, url: str) -> Task:
        """Ask for an update."""
        name, _, version = urlsplit(url).path.rsplit("/", 1)[-1].removesuffix(".bin").partition("-")
        component = "nic:NIC1" if name == "nic" else name
        plan = self.plans.pop(0) if self.plans else Plan()
        begun = None if plan.needs_reboot else time.monotonic()
        task = Task(str(len(self.tasks) + 1), component, version, plan, begun)
        self.tasks.append(task)
        return task

    def boot(self) -> None:
        """The machine boots: what waited for that goes on."""
        self.versions |= self._staged
        self._staged = {}
        for task in self.tasks:
            if task.begun is None:
                task.begun = time.monotonic()

    def go_on(self) -> None:
        """End the tasks whose time is up."""
        for task in self.tasks:
            if task.is_over or task.fraction < 1:
                continue
            task.is_over = True
            if task.plan.state == "Completed":
                (self._staged if task.plan.stages_only else self.versions)[task.component] = task.version
            self.away_until = max(self.away_until, time.monotonic() + task.plan.restarts_for)

    def find(self, task_id: str) -> Task | None:
        """The task, unless it was forgotten."""
        found = next((task for task in self.tasks if task.id == task_id), None)
        return None if found is None or (found.is_over and found.plan.vanishes) else found
