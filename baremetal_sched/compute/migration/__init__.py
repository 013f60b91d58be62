"""Coming from a Nova or an earlier release: import, flavors with custom resource classes, checks before an upgrade.

May import all other rooms.
"""
