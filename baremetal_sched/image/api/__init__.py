"""The image API: Glance's v2, without image data."""
