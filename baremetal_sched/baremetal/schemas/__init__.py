"""What clients may send: one module per resource. Unknown keys are refused."""
