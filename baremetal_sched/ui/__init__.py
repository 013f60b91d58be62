"""Pages about the fleet, for people with a browser: made on the server. They act by requests of the APIs."""
