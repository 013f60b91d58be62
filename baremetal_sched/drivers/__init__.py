"""Drivers: hardware types, and the interfaces by which machines are reached. A folder for each vendor."""
