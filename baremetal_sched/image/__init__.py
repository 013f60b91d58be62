"""Images as records: what a server boots, and what its machine must have. Follows Glance; keeps no image data."""
