"""Bodies of requests about nodes, chassis and traits."""
