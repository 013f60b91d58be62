"""The recipes in ``api-ref/contributing`` work: each is followed, word for word, in a copy of the project."""
