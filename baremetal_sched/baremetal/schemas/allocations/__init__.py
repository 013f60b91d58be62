"""Bodies of requests about allocations."""
