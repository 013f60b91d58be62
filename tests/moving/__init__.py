"""Moving in from Ironic and Placement: ``baremetal-sched import``."""
