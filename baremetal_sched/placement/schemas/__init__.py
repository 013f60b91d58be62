"""JSON schemas of requests. The validator's messages are part of this API."""
