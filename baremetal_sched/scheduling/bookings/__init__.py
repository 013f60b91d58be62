"""Bookings, as clients make, change and see them, and how conductors keep them."""
