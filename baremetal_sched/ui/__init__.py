"""Pages about the fleet, for people with a browser: made on the server, without scripts, and for reading only."""
