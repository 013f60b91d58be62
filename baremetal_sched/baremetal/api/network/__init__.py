"""Views of ports, port groups, VIFs, volumes and network events."""
