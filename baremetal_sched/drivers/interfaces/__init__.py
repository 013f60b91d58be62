"""What drivers have to offer: a protocol for each kind of interface."""
