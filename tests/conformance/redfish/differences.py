"""Where our Redfish nodes differ from Ironic's on purpose: by emulator and story, patterns of the names of what was
seen, each with the reason. Everything else must be equal.

`api-ref/baremetal/known_differences.rst` has them for people.
"""

_VENDOR = {"vendor": "Ironic notes the vendor of a machine in its properties when it becomes manageable; we do not."}
_CLIENT = "What a controller refuses, or that it cannot be reached, is answered with 400. Ironic answers 500."

_AGENT = (
    "Steps of BIOS and firmware need no agent. Ironic waits for one after the machine has been restarted, even if none "
    "is to be booted (disable_ramdisk), and refuses updates then."
)

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
        r"inspect|inspect: complains|addresses|inventory.*": "A controller that does not say which processors "
        "there are is inspected all the same; with Ironic the inspection fails.",
    },
    "fake deployed": _VENDOR,
    "fake attached": {
        **_VENDOR,
        r"eject floppy: status": "One device is ejected, if any takes media of this kind. Ironic wants all devices of "
        "the machine to take it.",
    },
    "fake configured": _VENDOR,
    "libvirt inspected": {**_VENDOR, "inventory": "Storage controllers are not in inventories."},
    "libvirt configured": {**_VENDOR, r"(clean|end of waiting|after|BIOS after|settings after).*": _AGENT},
    "libvirt updated": {**_VENDOR, r"(clean|after|firmware after).*": _AGENT},
    "libvirt managed": {**_VENDOR, r"boot from (cdrom|disk|bios|wanboot): status": _CLIENT},
    "libvirt switched": {
        **_VENDOR,
        r"8 soft rebooting.*": "A soft reboot of a machine that is off switches it on. Ironic asks for a restart, "
        "which a controller may refuse.",
    },
}
