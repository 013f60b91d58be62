"""Images as records: what a server boots, and what its machine has to have. Follows Glance; keeps no image data."""
