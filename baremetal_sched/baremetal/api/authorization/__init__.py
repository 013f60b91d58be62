"""Permissions beyond the rule of a route: guards, and rules of single fields."""
