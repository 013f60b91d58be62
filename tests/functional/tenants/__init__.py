"""Two tenants, red and blue, who have a little of everything each, and must not see or change what the other has."""
