"""A node as a resource provider: when it is available, how placement shows it, and the checks that both agree.

May import ``conductors``.
"""
