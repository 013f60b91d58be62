"""Microversions of the compute API: 2.1 to 2.100."""

from baremetal_sched.web.microversions import Microversions

MAJOR = 2
MINIMUM = 1
MAXIMUM = 100

VERSIONS = Microversions("compute", MAJOR, MINIMUM, MAXIMUM, legacy_header="X-OpenStack-Nova-API-Version")
