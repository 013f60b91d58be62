"""How fast we are, beside what we mirror. Not collected by pytest: see README.md."""
