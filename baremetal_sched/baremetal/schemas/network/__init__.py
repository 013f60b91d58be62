"""Bodies of requests about ports, port groups, volumes and events."""
