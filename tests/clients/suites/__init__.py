"""Test suites that other projects ship with their clients, run against the service."""
