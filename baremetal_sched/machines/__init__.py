"""What drivers know of a machine: states, interfaces, results of operations. Rules of nodes are elsewhere."""
