"""Which machines meet which conditions, counted in one scan: what allocations, servers and explanations say alike."""
