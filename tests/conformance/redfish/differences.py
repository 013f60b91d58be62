"""Where our Redfish nodes differ from Ironic's on purpose: by emulator and story, patterns of the names of what was
seen, each with the reason. Everything else has to be equal.

`api-ref/baremetal/known_differences.rst` has them for people.
"""

_VENDOR = {"vendor": "Ironic notes the vendor of a machine in its properties when it becomes manageable; we do not."}
_CLIENT = "What a controller refuses, or that it cannot be reached, is answered with 400. Ironic answers 500."

DIFFERENCES: dict[str, dict[str, str]] = {
    "fake what_is_missing": {
        r"redfish_(address|verify_ca|auth_type) = .*: interfaces": "Boot and deploy need a controller, too.",
        r"redfish_system_id = 'no-path': interfaces": "A path begins with a slash; Ironic adds one.",
    },
    "fake refused": {r"boot device with a wrong \w+: status": _CLIENT},
    "fake switched": _VENDOR,
    "fake managed": {**_VENDOR, r"(boot from (bios|wanboot)|nmi): status": _CLIENT},
    "fake inspected": {
        **_VENDOR,
        r"inspect|inspect: complains|addresses|inventory.*": "A controller that does not say which processors there are "
        "is inspected all the same; with Ironic the inspection fails.",
    },
    "fake deployed": _VENDOR,
    "fake attached": {
        **_VENDOR,
        r"eject floppy: status": "One device is ejected, if any has media of this type. Ironic wants each device of the "
        "machine to have it.",
    },
    "fake configured": _VENDOR,
}
