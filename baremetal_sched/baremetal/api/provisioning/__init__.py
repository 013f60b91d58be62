"""Views of provision states, deploy templates and runbooks, and of the validation of nodes for them."""
