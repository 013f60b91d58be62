"""Views of nodes and what they carry: traits, history, children, chassis, shards."""
