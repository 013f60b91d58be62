"""All mutants."""

from tests.mutants import authentication, baremetal, compute, conductor, database, placement, redfish, secrets, web

MUTANTS = (
    *placement.MUTANTS,
    *baremetal.MUTANTS,
    *compute.MUTANTS,
    *conductor.MUTANTS,
    *database.MUTANTS,
    *secrets.MUTANTS,
    *authentication.MUTANTS,
    *redfish.MUTANTS,
    *web.MUTANTS,
)
