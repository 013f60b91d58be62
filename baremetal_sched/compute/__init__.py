"""Booting by flavor and image: flavors, images, servers, and the request that a flavor and an image make."""
