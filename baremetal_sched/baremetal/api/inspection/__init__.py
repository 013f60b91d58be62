"""Views for agents, and of inspection rules and inventories."""
