"""What the mirrored APIs cannot say: what a request would get, without claiming anything."""
