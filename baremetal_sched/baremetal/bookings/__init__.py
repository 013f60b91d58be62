"""Bookings and plans: which machines are kept, from one moment until another. Below holds, which open machines too."""
