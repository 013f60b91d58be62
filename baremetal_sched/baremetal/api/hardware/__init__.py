"""Views of a node's hardware: power, consoles, management, BIOS, firmware, media, vendor methods."""
