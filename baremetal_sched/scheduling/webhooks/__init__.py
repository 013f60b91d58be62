"""Webhooks: receivers to which events are sent."""
