"""Names of power and provision states, boot devices and boot modes, as the API has them (Ironic: common/states.py)."""

POWER_ON = "power on"
POWER_OFF = "power off"
REBOOT = "rebooting"
SOFT_POWER_OFF = "soft power off"
SOFT_REBOOT = "soft rebooting"

#: The power targets of clients, with the states that they lead to.
POWER_TARGETS = {
    POWER_ON: POWER_ON,
    POWER_OFF: POWER_OFF,
    REBOOT: POWER_ON,
    SOFT_POWER_OFF: POWER_OFF,
    SOFT_REBOOT: POWER_ON,
}

ENROLL = "enroll"
VERIFYING = "verifying"
MANAGEABLE = "manageable"
AVAILABLE = "available"
ACTIVE = "active"
#: A power state as well.
ERROR = "error"
RESCUE = "rescue"
CLEANING = "cleaning"
CLEANWAIT = "clean wait"
CLEANHOLD = "clean hold"
CLEANFAIL = "clean failed"
INSPECTING = "inspecting"
INSPECTWAIT = "inspect wait"
INSPECTFAIL = "inspect failed"
ADOPTING = "adopting"
ADOPTFAIL = "adopt failed"
DEPLOYING = "deploying"
DEPLOYWAIT = "wait call-back"
DEPLOYHOLD = "deploy hold"
DEPLOYFAIL = "deploy failed"
DELETING = "deleting"
RESCUING = "rescuing"
RESCUEWAIT = "rescue wait"
RESCUEFAIL = "rescue failed"
UNRESCUING = "unrescuing"
UNRESCUEFAIL = "unrescue failed"
SERVICING = "servicing"
SERVICEWAIT = "service wait"
SERVICEHOLD = "service hold"
SERVICEFAIL = "service failed"

PROVISION_STATES = frozenset(
    {
        *(ENROLL, VERIFYING, MANAGEABLE, AVAILABLE, ACTIVE, ERROR),
        *(CLEANING, CLEANWAIT, CLEANHOLD, CLEANFAIL),
        *(INSPECTING, INSPECTWAIT, INSPECTFAIL),
        *(ADOPTING, ADOPTFAIL),
        *(DEPLOYING, DEPLOYWAIT, DEPLOYHOLD, DEPLOYFAIL),
        *(DELETING, "deleted", "rebuild"),
        *(RESCUE, RESCUING, RESCUEWAIT, RESCUEFAIL, UNRESCUING, UNRESCUEFAIL),
        *(SERVICING, SERVICEWAIT, SERVICEHOLD, SERVICEFAIL),
    }
)

POWER_FAILURE = "power failure"
CLEAN_FAILURE = "clean failure"
RESCUE_ABORT_FAILURE = "rescue abort failure"
SERVICE_FAILURE = "service failure"
FAULTS = (POWER_FAILURE, CLEAN_FAILURE, RESCUE_ABORT_FAILURE, SERVICE_FAILURE)

#: States in which interfaces and the resource class may change.
UPDATE_ALLOWED = (ENROLL, INSPECTING, INSPECTWAIT, MANAGEABLE, AVAILABLE)

#: States with a target in which a node may be changed all the same.
UPDATE_IN_TRANSITION = frozenset(
    {
        *(DEPLOYFAIL, INSPECTING, INSPECTFAIL, INSPECTWAIT, CLEANFAIL, ERROR, VERIFYING, ADOPTFAIL),
        *(RESCUEFAIL, UNRESCUEFAIL, SERVICEHOLD, SERVICEFAIL),
    }
)

#: Besides ``available``, if the settings say so.
DELETE_ALLOWED = (MANAGEABLE, ENROLL, ADOPTFAIL)
PROTECT_ALLOWED = (ACTIVE, RESCUE)

#: States in which it may change how a node is connected: its ports, its portgroups.
CONNECTIVITY_ALLOWED = (ENROLL, INSPECTING, INSPECTWAIT, MANAGEABLE)

#: States in which the volumes of a node may be removed while its power is not known to be off.
VOLUME_CHANGE_ALLOWED = (ENROLL, MANAGEABLE, ADOPTFAIL)

BOOT_MODES = ("bios", "uefi")
