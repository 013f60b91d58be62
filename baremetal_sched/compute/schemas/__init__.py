"""What clients may send, a module per resource."""
