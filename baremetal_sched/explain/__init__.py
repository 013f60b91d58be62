"""Why a request finds the machines that it finds: of placement, of servers and of allocations, flat or in trees."""
