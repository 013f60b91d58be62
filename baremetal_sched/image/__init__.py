"""Images as records: their names, locations, and conditions on the machine. Follows Glance; keeps no image data."""
