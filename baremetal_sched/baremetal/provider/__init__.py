"""A node as a resource provider: when it is available, what placement is told, and the checks that both agree.

May import ``conductors``.
"""
