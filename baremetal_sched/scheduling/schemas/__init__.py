"""What clients may send to the scheduling API."""
