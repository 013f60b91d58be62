"""Allocation candidates: query string -> request groups -> search -> response."""
