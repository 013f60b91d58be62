"""Properties of an image against a flavor. ``image.properties`` checks single properties."""

from collections.abc import Mapping

from baremetal_sched.compute.resource_request import groups_of, required_by_image
from baremetal_sched.errors.compute import TraitConflict


def check_together(extra_specs: Mapping[str, str], properties: Mapping[str, str]) -> None:
    """Check an image against a flavor, both of which are right by themselves.

    Raises TraitConflict if the image requires a trait that the flavor forbids in the group without a suffix, which is
    where traits of images go. Another group may forbid it, since another provider may serve that.
    """
    unsuffixed = groups_of(extra_specs).get("")
    conflicts = required_by_image(properties) & unsuffixed.forbidden if unsuffixed else ()
    if conflicts:
        raise TraitConflict(traits=", ".join(sorted(conflicts)))
