"""Views of provision states, deploy templates and runbooks, and of what a node lacks for them."""
