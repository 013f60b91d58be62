"""A machine as drivers see it: states, interfaces, results of operations. Rules of nodes are elsewhere."""
