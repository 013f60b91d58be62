"""The readable resources of the controller, sessions, power, the boot source, and the BIOS."""

from typing import Any

from flask import Flask, Response, jsonify, request

from tests.redfish_service.bios import DESCRIBED
from tests.redfish_service.controller import Controller

ROOT = "/redfish/v1"
SYSTEM, MANAGER, CHASSIS = f"{ROOT}/Systems/1", f"{ROOT}/Managers/BMC", f"{ROOT}/Chassis/1"
BIOS, STORAGE = f"{SYSTEM}/Bios", f"{SYSTEM}/Storage/1"
SESSIONS = f"{ROOT}/SessionService/Sessions"
REGISTRY = f"{ROOT}/Registries/BiosAttributes"


def link(path: str) -> dict[str, str]:
    """A link to another resource."""
    return {"@odata.id": path}


def refuse(status: int, message: str, message_id: str = "Base.1.8.GeneralError") -> tuple[Response, int]:
    """An error as Redfish has it."""
    said = {"MessageId": message_id, "Message": message, "Severity": "Critical"}
    return jsonify({"error": {"code": message_id, "message": message, "@Message.ExtendedInfo": [said]}}), status


def collection(path: str, names: list[str]) -> dict[str, Any]:
    """A collection, whose members are below it."""
    members = [link(f"{path}/{name}") for name in names]
    return {"@odata.id": path, "Name": "Collection", "Members": members, "Members@odata.count": len(members)}


def resource(path: str, kind: str, **more: Any) -> dict[str, Any]:
    """A resource with what each has."""
    name = path.rstrip("/").rsplit("/", 1)[-1]
    return {"@odata.id": path, "@odata.type": f"#{kind}.v1_0_0.{kind}", "Id": name, "Name": name, **more}


def add(application: Flask, controller: Controller) -> None:
    """Serve these."""
    _add_frame(application, controller)
    _add_sessions(application, controller)
    _add_system(application, controller)
    _add_members(application, controller)
    _add_bios(application, controller)


def _add_frame(application: Flask, controller: Controller) -> None:
    application.url_map.strict_slashes = False

    @application.get("/redfish")
    def versions() -> Any:
        return {"v1": f"{ROOT}/"}

    @application.get(f"{ROOT}/")
    def root() -> Any:
        more: dict[str, Any] = {
            "RedfishVersion": "1.8.0",
            "UUID": "92384634-2938-2342-8820-489239905423",
            "Systems": link(f"{ROOT}/Systems"),
            "Managers": link(f"{ROOT}/Managers"),
            "Chassis": link(f"{ROOT}/Chassis"),
            "UpdateService": link(f"{ROOT}/UpdateService"),
            "Tasks": link(f"{ROOT}/TaskService"),
            "Registries": link(f"{ROOT}/Registries"),
        }
        if controller.has_sessions:
            more |= {"SessionService": link(f"{ROOT}/SessionService"), "Links": {"Sessions": link(SESSIONS)}}
        return resource(f"{ROOT}/", "ServiceRoot", **more)

    for name, members in {"Systems": ["1"], "Managers": ["BMC"], "Chassis": ["1"]}.items():
        document = collection(f"{ROOT}/{name}", members)
        application.add_url_rule(f"{ROOT}/{name}", name, lambda document=document: document)

    @application.get(MANAGER)
    def manager() -> Any:
        more = {"FirmwareVersion": controller.updates.versions["bmc"], "Model": "BMC 1", "ManagerType": "BMC"}
        return resource(MANAGER, "Manager", **more, Links={"ManagerForServers": [link(SYSTEM)]})

    @application.get(CHASSIS)
    def chassis() -> Any:
        adapters = link(f"{CHASSIS}/NetworkAdapters")
        return resource(CHASSIS, "Chassis", ChassisType="RackMount", NetworkAdapters=adapters)


def _add_sessions(application: Flask, controller: Controller) -> None:
    @application.get(f"{ROOT}/SessionService")
    def session_service() -> Any:
        timeout = max(1, int(controller.sessions.seconds))
        path = f"{ROOT}/SessionService"
        return resource(path, "SessionService", ServiceEnabled=True, SessionTimeout=timeout, Sessions=link(SESSIONS))

    @application.get(SESSIONS)
    def sessions() -> Any:
        return collection(SESSIONS, controller.sessions.ids)

    @application.post(SESSIONS)
    def log_in() -> Any:
        asked = request.get_json(silent=True) or {}
        with controller.lock:
            if (asked.get("UserName"), asked.get("Password")) != (controller.username, controller.password):
                return refuse(401, "The credentials are wrong.")
            opened = controller.sessions.open()
        if opened is None:
            return refuse(503, "There are too many sessions.")
        path = f"{SESSIONS}/{opened[0]}"
        answer = jsonify(resource(path, "Session", UserName=controller.username))
        answer.headers["X-Auth-Token"], answer.headers["Location"] = opened[1], path
        return answer, 201

    @application.delete(f"{SESSIONS}/<name>")
    def log_out(name: str) -> Any:
        with controller.lock:
            return ("", 204) if controller.sessions.close(name) else refuse(404, "There is no such session.")


def _add_system(application: Flask, controller: Controller) -> None:
    @application.get(SYSTEM)
    def system() -> Any:
        below = {name: link(f"{SYSTEM}/{name}") for name in ("EthernetInterfaces", "Processors", "Storage", "Bios")}
        actions = {
            "#ComputerSystem.Reset": {
                "target": f"{SYSTEM}/Actions/ComputerSystem.Reset",
                "ResetType@Redfish.AllowableValues": controller.reset_types,
            }
        }
        with controller.lock:
            more = {
                "PowerState": controller.power_state,
                "BiosVersion": controller.updates.versions["bios"],
                "Boot": dict(controller.boot),
                "Status": {"State": "Enabled", "Health": "OK"},
                "Links": {"Chassis": [link(CHASSIS)], "ManagedBy": [link(MANAGER)]},
                "Actions": actions,
                **below,
                **controller.system,
            }
        return resource(SYSTEM, "ComputerSystem", **more)

    @application.patch(SYSTEM)
    def change() -> Any:
        with controller.lock:
            controller.boot.update((request.get_json(silent=True) or {}).get("Boot", {}))
        return "", 204

    @application.post(f"{SYSTEM}/Actions/ComputerSystem.Reset")
    def reset() -> Any:
        kind = (request.get_json(silent=True) or {}).get("ResetType")
        if kind not in controller.reset_types:
            return refuse(400, f"The value {kind} for the property ResetType is not in the list of acceptable values.")
        with controller.lock:
            controller.reset(kind)
        return "", 204


def _add_members(application: Flask, controller: Controller) -> None:
    def add_collection(name: str, path: str, kind: str) -> None:
        def members() -> Any:
            return collection(path, [each["Id"] for each in controller.collections[name]])

        def member(member: str) -> Any:
            found = next((each for each in controller.collections[name] if each["Id"] == member), None)
            return refuse(404, "It is gone.") if found is None else resource(f"{path}/{member}", kind, **found)

        application.add_url_rule(path, name, members)
        application.add_url_rule(f"{path}/<member>", f"{name} member", member)

    add_collection("EthernetInterfaces", f"{SYSTEM}/EthernetInterfaces", "EthernetInterface")
    add_collection("Processors", f"{SYSTEM}/Processors", "Processor")
    add_collection("Drives", f"{STORAGE}/Drives", "Drive")

    @application.get(f"{SYSTEM}/Storage")
    def storages() -> Any:
        return collection(f"{SYSTEM}/Storage", ["1"])

    @application.get(STORAGE)
    def storage() -> Any:
        drives = [link(f"{STORAGE}/Drives/{each['Id']}") for each in controller.collections["Drives"]]
        return resource(STORAGE, "Storage", Drives=drives)

    @application.get(f"{CHASSIS}/NetworkAdapters")
    def adapters() -> Any:
        return collection(f"{CHASSIS}/NetworkAdapters", ["NIC1"])

    @application.get(f"{CHASSIS}/NetworkAdapters/NIC1")
    def adapter() -> Any:
        versions = [{"FirmwarePackageVersion": controller.updates.versions["nic:NIC1"]}]
        more = {"Manufacturer": "Contoso", "Model": "N100", "SerialNumber": None, "Controllers": versions}
        return resource(f"{CHASSIS}/NetworkAdapters/NIC1", "NetworkAdapter", **more)


def _add_bios(application: Flask, controller: Controller) -> None:
    @application.get(BIOS)
    def bios() -> Any:
        with controller.lock:
            return jsonify(controller.bios.document(BIOS))

    @application.get(f"{BIOS}/Settings")
    def settings() -> Any:
        with controller.lock:
            answer = jsonify(controller.bios.settings_document(f"{BIOS}/Settings"))
            if controller.bios.version is not None and controller.bios.tells_version:
                answer.headers["ETag"] = controller.bios.version
            return answer

    @application.patch(f"{BIOS}/Settings")
    def change_settings() -> Any:
        asked = request.get_json(silent=True) or {}
        apply_time = (asked.get("@Redfish.SettingsApplyTime") or {}).get("ApplyTime")
        with controller.lock:
            missed = controller.bios.misses(request.headers.get("If-Match"))
            if missed is not None:
                return refuse(missed, "The version is not the current one.")
            wrong = controller.bios.set(asked.get("Attributes") or {}, apply_time)
        return refuse(400, wrong) if wrong else ("", 204)

    @application.post(f"{BIOS}/Actions/Bios.ResetBios")
    def reset_bios() -> Any:
        with controller.lock:
            controller.bios.reset()
        return "", 204

    @application.get(f"{ROOT}/Registries")
    def registries() -> Any:
        return collection(f"{ROOT}/Registries", ["BiosAttributes"] if controller.bios.has_registry else [])

    @application.get(REGISTRY)
    def registry_file() -> Any:
        location = [{"Language": "en", "Uri": f"{ROOT}/registries/BiosAttributes.json"}]
        more = {"Registry": "BiosAttributes.v1_0_0", "Languages": ["en"], "Location": location}
        return resource(REGISTRY, "MessageRegistryFile", **more)

    @application.get(f"{ROOT}/registries/BiosAttributes.json")
    def registry() -> Any:
        entries = {"Attributes": DESCRIBED}
        more = {"Language": "en", "RegistryVersion": "1.0.0", "OwningEntity": "Test", "RegistryEntries": entries}
        return resource(f"{ROOT}/registries/BiosAttributes.json", "AttributeRegistry", **more)
