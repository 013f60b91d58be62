"""Deployments of systems that run from memory: nothing is written to a disk."""
