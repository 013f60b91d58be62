"""The scheduling API, for questions that the mirrored APIs cannot answer: explanations, capacity, waiting claims,
holds."""
