"""Schemas of documents that clients send: one module per resource. Unknown keys are refused."""
