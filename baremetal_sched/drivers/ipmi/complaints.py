"""Error messages of ipmitool, and what they mean."""

import re
from collections.abc import Sequence

from baremetal_sched.drivers.ipmi.driver_info import CIPHER_SUITE, IpmiTarget
from baremetal_sched.drivers.ipmi.process import Ended
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import ControllerError, MachineUnreachable
from baremetal_sched.masking import MASK, mask_text

#: Lines that it prints for successful sessions, too.
_CHATTER = re.compile(
    r"Loading IANA PEN|Unable to Get Channel Cipher Suites|Using best available cipher|Running Get VSO|"
    r"Invalid completion code received|Discovered IPMB|RAW R(EQ|SP)|^[0-9a-f ]*$"
)
_LONGEST = 300

_UNANSWERED = re.compile(
    r"Unable to establish|Address lookup|Could not open socket|Authentication Capabilities error|no response|"
    r"Get Session Challenge",
    re.IGNORECASE,
)
_NOT_ESTABLISHED = re.compile(r"Unable to establish", re.IGNORECASE)
_UNKNOWN_NAME = re.compile(r"Address lookup", re.IGNORECASE)
_REFUSED = re.compile(
    r"HMAC is invalid|unauthorized|RAKP 4 message|invalid integrity check|Invalid user name|"
    r"Activate Session (error|com)|Privilege Level to|privilege level exceeds|insufficient privilege",
    re.IGNORECASE,
)
#: Also the statuses of an answer to the request for a session that name an algorithm: 04h to 07h, 10h and 11h.
_CIPHER_SUITE = re.compile(
    r"Unsupported cipher suite|no matching (cipher suite|authentication algorithm|integrity payload)|"
    r"invalid (authentication|integrity|confidentiality) algorithm|: invalid role|is not what we requested",
    re.IGNORECASE,
)
#: The controller is busy, or just starting.
_BUSY = re.compile(
    r"insufficient resources for session|Node busy|Timeout|Out of space|BMC initialization in progress", re.IGNORECASE
)
#: Errors after which a retry cannot succeed.
_FINAL = re.compile(
    r"Invalid (command|data field|parameter)|not supported|unsupported|out of range|Illegal|Request data|"
    r"too (short|long)|longer than|Parameter|Reserved",
    re.IGNORECASE,
)


class Complaint:
    """Why a command failed at a controller.

    ``passes``: a retry may succeed. ``was_begun``: the command may have been carried out. ``is_about_cipher_suite``:
    another cipher suite may be accepted. ``suite`` is the one that was used, None if ipmitool chose it.
    """

    def __init__(self, ended: Ended, target: IpmiTarget, retryable: Sequence[str], suite: str | None) -> None:
        said = ended.errors if ended.errors.strip() else ended.output
        named = any(text in said for text in retryable if text)
        refused = bool(_REFUSED.search(said)) and "no response from RAKP 1" not in said
        unanswered = ended.was_late or (ended.status not in (0, None) and bool(_UNANSWERED.search(said)))
        self.is_about_cipher_suite = bool(_CIPHER_SUITE.search(said))
        self.was_begun = not _NOT_ESTABLISHED.search(said) and not _BUSY.search(said)
        self.passes = named or not (
            refused
            or self.is_about_cipher_suite
            or ended.printed_too_much
            or _UNKNOWN_NAME.search(said)
            or (_FINAL.search(said) and not _BUSY.search(said))
        )
        self.error = _error(ended, target, _readable(said, target), unanswered=unanswered, refused=refused)
        if self.is_about_cipher_suite and not refused:
            self.error = _lacks_cipher_suite(target, suite or target.cipher_suite, _readable(said, target))


def _error(ended: Ended, target: IpmiTarget, output: str, *, unanswered: bool, refused: bool) -> SchedulerError:
    where = _where(target)
    if ended.was_late:
        return MachineUnreachable(address=where, reason=f"ipmitool did not end in time. {output}".strip())
    if refused:
        reason = f"the controller refuses ipmi_username, ipmi_password or ipmi_priv_level. It says: {output}"
        return MachineUnreachable(address=where, reason=reason)
    if unanswered:
        return MachineUnreachable(address=where, reason=output)
    if ended.printed_too_much:
        return ControllerError(address=where, reason="answers without end.")
    said = output or f"ipmitool ended with status {ended.status}."
    return ControllerError(address=where, reason=f"refuses a command: {said}")


def _lacks_cipher_suite(target: IpmiTarget, suite: str | None, output: str) -> SchedulerError:
    named = f"cipher suite {suite}" if suite else "the cipher suite that ipmitool has chosen"
    reason = f"does not accept {named}. Set driver_info/{CIPHER_SUITE} to one that it has. It says: {output}"
    return ControllerError(address=_where(target), reason=reason)


def _where(target: IpmiTarget) -> str:
    return target.address if target.port == 623 else f"{target.address} port {target.port}"


def _readable(said: str, target: IpmiTarget) -> str:
    """Return the output of ipmitool on one line, shortened, and without secrets."""
    for secret in (target.password, target.kg_key.hex(), target.kg_key.decode(errors="replace")):
        if secret:
            said = said.replace(secret, MASK)
    lines = ("".join(char if char.isprintable() else " " for char in line).strip(" >") for line in said.splitlines())
    kept = dict.fromkeys(line for line in lines if line and not _CHATTER.search(line))
    text = mask_text("; ".join(kept))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
