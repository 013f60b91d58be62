"""Bodies of requests for provision states, deploy templates and runbooks, and their steps."""
