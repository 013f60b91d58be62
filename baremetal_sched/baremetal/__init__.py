"""The bare metal service: nodes with their traits and power, conductors, and which conductor owns which node."""
