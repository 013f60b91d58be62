"""The protocols that drivers implement: one for each type of interface."""
