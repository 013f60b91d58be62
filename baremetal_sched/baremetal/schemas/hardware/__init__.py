"""Bodies of requests about a node's hardware."""
