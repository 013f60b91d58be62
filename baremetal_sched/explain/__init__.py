"""Explanations of the result of a request: of placement, of servers and of allocations, flat or in trees."""
