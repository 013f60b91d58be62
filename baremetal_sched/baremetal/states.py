"""Names of power and provision states, as the API has them (Ironic: common/states.py)."""

POWER_ON = "power on"
POWER_OFF = "power off"
REBOOT = "rebooting"
SOFT_POWER_OFF = "soft power off"
SOFT_REBOOT = "soft rebooting"
ERROR = "error"

#: What a client may ask for, with the state that it leads to.
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
RESCUE = "rescue"
CLEANING = "cleaning"
CLEANWAIT = "clean wait"
INSPECTING = "inspecting"
INSPECTWAIT = "inspect wait"
ADOPTFAIL = "adopt failed"

PROVISION_STATES = frozenset(
    {
        ACTIVE,
        "adopting",
        ADOPTFAIL,
        AVAILABLE,
        "clean failed",
        "clean hold",
        CLEANWAIT,
        CLEANING,
        "deleted",
        "deleting",
        "deploy failed",
        "deploy hold",
        "deploying",
        ENROLL,
        ERROR,
        "inspect failed",
        INSPECTWAIT,
        INSPECTING,
        MANAGEABLE,
        "rebuild",
        RESCUE,
        "rescue failed",
        "rescue wait",
        "rescuing",
        "service failed",
        "service hold",
        "service wait",
        "servicing",
        "unrescue failed",
        "unrescuing",
        VERIFYING,
        "wait call-back",
    }
)

FAULTS = ("power failure", "clean failure", "rescue abort failure", "service failure")

#: States in which interfaces and the resource class may change.
UPDATE_ALLOWED = (ENROLL, INSPECTING, INSPECTWAIT, MANAGEABLE, AVAILABLE)

#: States with a target in which a node may be changed all the same.
UPDATE_IN_TRANSITION = frozenset(
    {
        "deploy failed",
        INSPECTING,
        "inspect failed",
        INSPECTWAIT,
        "clean failed",
        ERROR,
        VERIFYING,
        ADOPTFAIL,
        "rescue failed",
        "unrescue failed",
        "servicing",
        "service hold",
        "service failed",
    }
)

DELETE_ALLOWED = (MANAGEABLE, ENROLL, ADOPTFAIL, AVAILABLE)
PROTECT_ALLOWED = (ACTIVE, RESCUE)
