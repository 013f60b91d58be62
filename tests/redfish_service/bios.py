"""The BIOS of the machine: attributes, and changes that wait for a reboot."""

from datetime import UTC, datetime
from typing import Any

DEFAULTS: dict[str, Any] = {"BootMode": "Uefi", "NumaGroup": 4, "ProcTurboMode": "Enabled", "QuietBoot": True}

#: As an attribute registry describes them.
DESCRIBED: list[dict[str, Any]] = [
    {
        "AttributeName": "BootMode",
        "Type": "Enumeration",
        "Value": [{"ValueName": "Uefi"}, {"ValueName": "Bios", "ValueDisplayName": "Legacy"}],
        "ReadOnly": False,
        "ResetRequired": True,
    },
    {"AttributeName": "NumaGroup", "Type": "Integer", "LowerBound": 1, "UpperBound": 8, "ReadOnly": False},
    {
        "AttributeName": "ProcTurboMode",
        "Type": "Enumeration",
        "Value": [{"ValueName": "Enabled"}, {"ValueName": "Disabled"}],
        "ReadOnly": False,
        "ResetRequired": True,
        "IsSystemUniqueProperty": False,
    },
    {"AttributeName": "QuietBoot", "Type": "Boolean", "ReadOnly": False},
    {"AttributeName": "AssetTag", "Type": "String", "MinLength": 0, "MaxLength": 20, "IsSystemUniqueProperty": True},
]


class Bios:
    """``refuses`` is what the BIOS says, as it boots, of settings that it does not take; ``ignores``: it keeps what it
    has, and says nothing. ``says_when``: does it say in ``@Redfish.Settings`` when settings were applied, and what came
    of that? ``pending_shows_all``: does the settings resource show all attributes, and not only changed ones?
    ``version`` is the ETag that a change must name, None if it need not; ``tells_version``: does the settings
    resource have it? ``stale_version`` is what ``@Redfish.Settings`` says instead.
    """

    def __init__(self) -> None:
        self.attributes: dict[str, Any] = dict(DEFAULTS)
        self.pending: dict[str, Any] = {}
        self.refuses = ""
        self.ignores = False
        self.version: str | None = None
        self.tells_version = True
        self.stale_version: str | None = None
        self.says_when = True
        self.pending_shows_all = False
        self.apply_times: list[str] | None = ["OnReset"]
        self.has_registry = True
        self.applied_at: str | None = None
        self.messages: list[dict[str, Any]] = []

    def misses(self, version: str | None) -> int | None:
        """The status for a change that names this version; None if it is right."""
        if self.version is None or version == self.version or (version == "*" and not self.tells_version):
            return None
        return 428 if version is None else 412

    def set(self, changes: dict[str, Any], apply_time: str | None) -> str | None:
        """Take changes; returns their errors."""
        unknown = sorted(set(changes) - set(self.attributes))
        if unknown:
            return f"The property {unknown[0]} is not in the list of valid properties for the resource."
        self.pending.update(changes)
        if apply_time == "Immediate" and "Immediate" in (self.apply_times or ()):
            self.apply()
        return None

    def reset(self) -> None:
        """Take the defaults at the next boot."""
        self.pending = dict(DEFAULTS)

    def apply(self) -> None:
        """The machine boots: take what waits for that."""
        if not self.pending:
            return
        self.applied_at = datetime.now(UTC).isoformat(timespec="seconds")
        if self.refuses:
            self.messages = [
                {"MessageId": "Base.1.8.PropertyValueError", "Severity": "Critical", "Message": self.refuses}
            ]
        else:
            self.messages = [{"MessageId": "Base.1.8.Success", "Severity": "OK", "Message": "Successfully completed."}]
            if not self.ignores:
                self.attributes.update(self.pending)
        self.pending = {}

    def document(self, path: str) -> dict[str, Any]:
        """The resource."""
        settings: dict[str, Any] = {"SettingsObject": {"@odata.id": f"{path}/Settings"}}
        if self.apply_times is not None:
            settings["SupportedApplyTimes"] = self.apply_times
        if self.stale_version is not None:
            settings["ETag"] = self.stale_version
        if self.says_when and self.applied_at is not None:
            settings |= {"Time": self.applied_at, "Messages": self.messages}
        return {
            "@odata.id": path,
            "@odata.type": "#Bios.v1_1_0.Bios",
            "Id": "Bios",
            "Name": "BIOS",
            "AttributeRegistry": "BiosAttributes.v1_0_0",
            "Attributes": self.attributes,
            "@Redfish.Settings": settings,
            "Actions": {"#Bios.ResetBios": {"target": f"{path}/Actions/Bios.ResetBios"}},
        }

    def settings_document(self, path: str) -> dict[str, Any]:
        """The resource of what waits for a reboot."""
        shown = {**self.attributes, **self.pending} if self.pending_shows_all else self.pending
        return {
            "@odata.id": path,
            "@odata.type": "#Bios.v1_1_0.Bios",
            "Id": "Settings",
            "Name": "S",
            "Attributes": shown,
        }
