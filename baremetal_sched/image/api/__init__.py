"""The image API: Glance's v2, as far as an image is a record."""
