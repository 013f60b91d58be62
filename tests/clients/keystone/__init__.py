"""A real Keystone, with people in it, and the service behind it."""
