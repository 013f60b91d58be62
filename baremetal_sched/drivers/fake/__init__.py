"""``fake-hardware``: machines that exist in the database only."""
