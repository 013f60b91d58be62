"""The update service, and the tasks that it makes."""

from typing import Any

from flask import Flask, jsonify, request

from tests.redfish_service.controller import Controller
from tests.redfish_service.resources import ROOT, collection, link, refuse, resource
from tests.redfish_service.updates import MONITORS, TASKS, Task

SERVICE = f"{ROOT}/UpdateService"
SIMPLE_UPDATE = f"{SERVICE}/Actions/UpdateService.SimpleUpdate"
INVENTORY = f"{SERVICE}/FirmwareInventory"


def add(application: Flask, controller: Controller) -> None:
    """Serve these."""
    _add_updates(application, controller)
    _add_tasks(application, controller)


def _add_updates(application: Flask, controller: Controller) -> None:

    @application.get(SERVICE)
    def update_service() -> Any:
        actions = {"#UpdateService.SimpleUpdate": {"target": SIMPLE_UPDATE}}
        return resource(
            SERVICE, "UpdateService", ServiceEnabled=True, Actions=actions, FirmwareInventory=link(INVENTORY)
        )

    @application.get(INVENTORY)
    def inventory() -> Any:
        return collection(INVENTORY, sorted(name.replace(":", "-") for name in controller.updates.versions))

    @application.get(f"{INVENTORY}/<name>")
    def software(name: str) -> Any:
        version = controller.updates.versions.get(name.replace("-", ":"))
        if version is None:
            return refuse(404, "There is no such software.")
        return resource(f"{INVENTORY}/{name}", "SoftwareInventory", Version=version, Updateable=True)

    @application.post(SIMPLE_UPDATE)
    def simple_update() -> Any:
        asked = request.get_json(silent=True) or {}
        url = asked.get("ImageURI")
        if not isinstance(url, str) or not url:
            return refuse(400, "The property ImageURI is missing.")
        if controller.updates.needs_targets and not asked.get("Targets"):
            return refuse(400, "The property Targets is missing.")
        with controller.lock:
            task = controller.updates.begin(url)
        return _accepted(task, controller.updates.names_task)


def _add_tasks(application: Flask, controller: Controller) -> None:
    @application.get(f"{ROOT}/TaskService")
    def task_service() -> Any:
        return resource(f"{ROOT}/TaskService", "TaskService", ServiceEnabled=True, Tasks=link(TASKS))

    @application.get(TASKS)
    def tasks() -> Any:
        if not controller.updates.lists_tasks:
            return refuse(404, "There is no such resource.")
        with controller.lock:
            known = [task.id for task in controller.updates.tasks if controller.updates.find(task.id)]
        return collection(TASKS, known)

    @application.get(f"{TASKS}/<name>")
    def show_task(name: str) -> Any:
        with controller.lock:
            found = controller.updates.find(name)
            return refuse(404, "There is no such task.") if found is None else jsonify(found.document())

    @application.get(f"{MONITORS}/<name>")
    def monitor(name: str) -> Any:
        with controller.lock:
            found = controller.updates.find(name)
            if found is None:
                return refuse(404, "There is no such task.")
            return (jsonify(found.document()), 200) if found.is_over else _accepted(found, True)


def _accepted(task: Task, names_task: bool) -> Any:
    answer = jsonify(task.document()) if names_task else jsonify({})
    answer.headers["Location"] = f"{MONITORS}/{task.id}"
    return answer, 202
