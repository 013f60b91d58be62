"""The driver methods that requests can call, by the names that ``baremetal.conductors.driver_calls`` uses.

Each receives the machine, its driver and the arguments, and returns its answer as JSON, with the changes to record on
the node.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.conductor import step_plans
from baremetal_sched.conductor.job import Job
from baremetal_sched.db.models import Node
from baremetal_sched.drivers import registry
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.drivers.enabled import EnabledDrivers
from baremetal_sched.drivers.interfaces.hardware import VendorInterface
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.machines.machine import NOTHING, Effect, Machine
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class Outcome:
    """The answer of a method, and the changes to record, which is done only if the node is reserved for the call."""

    value: Any = None
    effect: Effect = NOTHING


Method = Callable[[Driver, Machine, Mapping[str, Any]], Outcome]


def _validate(driver: Driver, machine: Machine, arguments: Mapping[str, Any]) -> Outcome:
    """Call ``validate`` of some interfaces, in order."""
    for kind in arguments["interfaces"]:
        getattr(driver, kind).validate(machine)
    return Outcome()


def _report(driver: Driver, machine: Machine, arguments: Mapping[str, Any]) -> Outcome:
    """Return the errors by interface, including the steps of deploy templates."""
    found = {}
    for kind in arguments["interfaces"]:
        try:
            getattr(driver, kind).validate(machine)
            if kind == "deploy":
                step_plans.deployment(driver, arguments["templates"])
        except SchedulerError as error:
            found[kind] = str(error)
    return Outcome(found)


def _validate_power(driver: Driver, machine: Machine, arguments: Mapping[str, Any]) -> Outcome:
    """Validate that the machine can reach the power state ``target``."""
    driver.power.validate(machine)
    target, supported = arguments["target"], driver.power.get_supported_power_states(machine)
    if target not in supported:
        raise InvalidValue(
            message=f"The power interface of node {machine.uuid} does not support '{target}'. "
            f"It supports: {', '.join(supported)}."
        )
    return Outcome()


def _validate_deploy(driver: Driver, machine: Machine, arguments: Mapping[str, Any]) -> Outcome:
    """Validate that the machine can be deployed with these steps."""
    driver.power.validate(machine)
    driver.deploy.validate(machine)
    step_plans.deployment(driver, arguments["templates"], arguments["steps"])
    return Outcome()


def _validate_vendor(driver: Driver, machine: Machine, arguments: Mapping[str, Any]) -> Outcome:
    """Return the properties of the vendor method for this HTTP method and these arguments."""
    name, http_method = arguments["method"], arguments["http_method"]
    known = driver.vendor.methods.get(name)
    if known is None:
        raise InvalidValue(message=f"No handler for method {name}")
    if http_method not in known.http_methods:
        raise InvalidValue(message=f"The method {name} does not support HTTP {http_method}")
    driver.vendor.validate_call(machine, name, arguments["arguments"])
    return Outcome(asdict(known))


def _console(action: str, *, enabled: bool) -> Method:
    """Return the method that starts or stops the console, and records that."""

    def switch(driver: Driver, machine: Machine, arguments: Mapping[str, Any]) -> Outcome:
        getattr(driver.console, action)(machine)
        return Outcome(effect=Effect(fields={"console_enabled": enabled}))

    return switch


def _plain(interface: str, name: str) -> Method:
    """Return the method of an interface; its value is the answer, or the changes to record."""

    def call(driver: Driver, machine: Machine, arguments: Mapping[str, Any]) -> Outcome:
        value = getattr(getattr(driver, interface), name)(machine, **arguments)
        return Outcome(effect=value) if isinstance(value, Effect) else Outcome(value)

    return call


METHODS: Mapping[str, Method] = {
    "validate": _validate,
    "report": _report,
    "validate_power": _validate_power,
    "validate_deploy": _validate_deploy,
    "vendor.methods": lambda driver, machine, arguments: Outcome(
        {name: asdict(method) for name, method in driver.vendor.methods.items()}
    ),
    "vendor.validate_call": _validate_vendor,
    "vendor.call": lambda driver, machine, arguments: Outcome(
        driver.vendor.call(machine, arguments["method"], arguments["arguments"])
    ),
    "console.start": _console("start_console", enabled=True),
    "console.stop": _console("stop_console", enabled=False),
    **{
        f"{interface}.{name}": _plain(interface, name)
        for interface, names in {
            "console": ("get_console",),
            "management": (
                "get_boot_device",
                "set_boot_device",
                "set_boot_mode",
                "set_secure_boot",
                "get_supported_boot_devices",
                "inject_nmi",
                "get_supported_indicators",
                "get_indicator_state",
                "set_indicator_state",
                "get_virtual_media",
                "attach_virtual_media",
                "detach_virtual_media",
            ),
            "network": ("vif_list", "vif_attach", "vif_detach", "port_changed", "portgroup_changed"),
        }.items()
        for name in names
    },
}


def call_node(method: str, machine: Machine, arguments: Mapping[str, Any]) -> Outcome:
    """Call a method of a machine's driver. Raises what the method raises, and InvalidValue if it does not exist."""
    known = METHODS.get(method)
    if known is None:
        raise _unknown(method)
    return known(Driver(machine), machine, arguments)


def call_type(method: str, hardware_type: str, arguments: Mapping[str, Any], settings: Settings) -> Outcome:
    """Call a method of a hardware type, that is, of its default vendor interface."""
    if method != "vendor.call_driver":
        raise _unknown(method)
    enabled = EnabledDrivers.of(settings)
    name = enabled.default(next(each for each in enabled.hardware_types if each.name == hardware_type), "vendor")
    interface: VendorInterface = registry.interface("vendor", name)
    return Outcome(interface.call_driver(arguments["method"], arguments["arguments"], settings))


def _unknown(method: str) -> InvalidValue:
    return InvalidValue(message=f"The conductor's release has no method {method} of drivers. Upgrade it.")


def do_call(job: Job) -> None:
    """Make the call and record its result; an error becomes the node's last error, which is cleared otherwise."""
    arguments = job.arguments
    _call_driver(job, arguments["method"], arguments["arguments"], arguments["failure"], clears_error=True)


def call_vendor_method(job: Job) -> None:
    """Call the method. Its result is discarded; an error becomes the node's last error."""
    method = job.arguments["method"]
    _call_driver(job, "vendor.call", job.arguments, f"Vendor method {method} failed", clears_error=False)


def _call_driver(job: Job, method: str, arguments: Mapping[str, Any], failed: str, *, clears_error: bool) -> None:
    machine = job.hold(lambda session, node: Machine.of(node, job.settings))
    if machine is None:
        job.log.warning("work was taken away; nothing done")
        return
    job.log.info("work begins", kind=job.kind, method=method)
    outcome, error = Outcome(), None
    try:
        outcome = METHODS[method](job.driver(machine), machine, arguments)
    except SchedulerError as failure:
        error = f"{failed}: {failure}"
    except Exception as failure:  # a driver may raise anything; the node must report it and be freed
        job.log.exception("driver failed")
        error = f"{failed}: unexpected {failure!r}"

    def finish(session: Session, node: Node) -> bool:
        outcome.effect.write(node)
        if clears_error or error is not None:
            node.last_error = error
        return True

    kept = job.finish(finish)
    job.log.info("work done" if kept else "work was taken away; nothing written", method=method, error=error)
