"""The IPMI driver, without a controller."""
