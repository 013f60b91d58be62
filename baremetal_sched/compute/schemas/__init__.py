"""Schemas of documents that clients send, a module per resource."""
