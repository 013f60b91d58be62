"""Why something that was asked of a server came to nothing: what its project is told, and what administrators are."""

from dataclasses import dataclass

from baremetal_sched.machines import states


@dataclass(frozen=True)
class Reason:
    """``message`` is for all who see the server. ``details`` are for administrators: they may name the node, its
    conductor and the driver's message. Without details, the message is complete."""

    message: str
    details: str = ""

    @property
    def in_full(self) -> str:
        """What administrators are told."""
        return self.details or self.message

    def continued(self, sentence: str) -> "Reason":
        """Return the reason with one more sentence."""
        return Reason(f"{self.message} {sentence}", f"{self.details} {sentence}" if self.details else "")


#: What failed when a node is in one of these states.
_FAILED = {
    states.DEPLOYFAIL: "The deployment of the server failed.",
    states.RESCUEFAIL: "The rescue of the server failed.",
    states.UNRESCUEFAIL: "The end of the server's rescue failed.",
    states.SERVICEFAIL: "A service of the server's machine failed.",
    states.ADOPTFAIL: "The adoption of the server's machine failed.",
    states.ERROR: "The server could not be taken off its machine.",
}


def of_state(node_uuid: str, provision_state: str, last_error: str | None) -> Reason:
    """Return why a server is in error whose node has come to this provision state."""
    said = last_error or f"Node {node_uuid} is in provision state '{provision_state}'."
    return Reason(f"{_FAILED[provision_state]} An administrator can see why.", said)
