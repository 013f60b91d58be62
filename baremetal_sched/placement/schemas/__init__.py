"""What clients may send, as JSON schemas: their validator's texts are part of this API."""
