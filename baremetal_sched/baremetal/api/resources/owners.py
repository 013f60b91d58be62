"""The owner of a resource that a request creates."""

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import ForeignOwner

#: Lets callers name any owner of a new allocation.
ANY_OWNER = "baremetal:allocation:create_restricted"


def creates_own_nodes(call: BaremetalCall) -> bool:
    """Return whether the caller may create nodes that their own project owns."""
    may = call.settings.api.project_admin_can_manage_own_nodes
    return bool(may) and call.allows("baremetal:node:create:self_owned_node")


def owner_of_new_allocation(call: BaremetalCall, owner: str | None) -> str | None:
    """The owner of a new allocation: the caller's project, unless a rule lets the caller name another, or none.

    Raises ForeignOwner if it does not.
    """
    caller = call.caller
    if caller.unrestricted or caller.system_scope == "all" or not call.settings.oslo_policy.enforce_new_defaults:
        return owner
    if owner is None:
        return caller.project_id
    if owner != caller.project_id and not call.allows(ANY_OWNER):
        raise ForeignOwner(owner=owner, project=caller.project_id)
    return owner


def owner_of_new_node(call: BaremetalCall, owner: str | None) -> str | None:
    """The owner of a new node. Callers of the system choose it, and so do callers without a project who may do
    everything; for others it is their project. Raises InvalidValue if they ask for another.
    """
    caller = call.caller
    speaks_for_all = caller.system_scope == "all" or (caller.unrestricted and caller.project_id is None)
    if speaks_for_all or not (caller.unrestricted or creates_own_nodes(call)):
        return owner
    if owner is not None and owner != caller.project_id:
        raise InvalidValue(
            message="Cannot create a node as a project scoped admin with an owner other than your own project."
        )
    return caller.project_id
