"""A bare metal scheduler: OpenStack's bare metal and Placement APIs over one database."""

__version__ = "0.1.0"
