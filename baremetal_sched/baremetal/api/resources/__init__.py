"""Code that the views of all resources share: collections, queries, links, owners, and rows as JSON."""
