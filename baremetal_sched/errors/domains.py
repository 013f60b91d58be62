"""Errors of domains."""

from baremetal_sched import commands
from baremetal_sched.errors import ConflictError, InvalidError, NotFoundError, UnavailableError


class DomainNotFound(NotFoundError):
    template = "There is no domain {domain}."


class NodeNotInDomain(NotFoundError):
    template = "Node {node} is not in domain {domain}."


class ParentNotFound(InvalidError):
    """The body names it, not the path."""

    template = "There is no domain {domain} that could be the parent."


class LevelTwice(InvalidError):
    """A circle of parents is a case of it."""

    template = (
        "Domain {domain} cannot be below {parent} ({level}): on the way from a domain to the top each level comes "
        "once, and {twice} would come twice. Choose a parent of another level."
    )


class DomainExists(ConflictError):
    template = "There is a domain {name} of level {level} already: {uuid}."


class DomainNotEmpty(ConflictError):
    template = (
        "Domain {domain} is not empty ({contents}). Take its nodes out, delete the domains below it or give them "
        "another parent, and try again."
    )


class DomainsNotServed(UnavailableError):
    template = (
        "Domains cannot be changed during an upgrade, because the release before this one does not know them. When all "
        "processes of that release have ended, run: "
        f"{commands.FINISH_UPGRADE}"
    )
