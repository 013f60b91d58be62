"""The Placement API: routes.py shows it on one screen."""
