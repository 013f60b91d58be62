"""The machines: nodes, their traits and power, conductors and who owns which node."""
