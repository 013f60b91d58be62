"""What clients may send to the image API, as JSON schemas, which the API also shows."""
