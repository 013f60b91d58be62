"""The compute API: flavors, key pairs, servers and what clients ask around them, as Nova has it."""
