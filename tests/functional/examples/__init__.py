"""The examples of the API reference: stories that make each request once, and record request and answer."""
