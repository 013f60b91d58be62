"""The compute API: flavors, key pairs, servers, and the smaller resources around them, as in Nova."""
