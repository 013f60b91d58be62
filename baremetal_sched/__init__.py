"""A bare metal scheduler: OpenStack's bare metal and Placement APIs over one database."""

from baremetal_sched import lean_imports

__version__ = "0.1.0"

lean_imports.install()
