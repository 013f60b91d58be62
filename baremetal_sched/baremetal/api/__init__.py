"""The bare metal API, as Ironic has it: routes.py shows it on one screen."""
