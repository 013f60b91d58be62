"""Keys of the WSGI environment with which the server informs the applications; and paths that both know."""

#: When the request was completely received, by ``time.monotonic``.
ACCEPTED_AT = "baremetal_sched.accepted_at"

#: An HttpError: the request is refused, and its API answers with this.
REFUSAL = "baremetal_sched.refusal"

#: A factory of a context in which the request waits, so that the server may serve another one.
IDLE = "baremetal_sched.idle"

#: Paths that are served at any load. They must not wait for anything.
IMMEDIATE = frozenset({"/healthcheck/live"})
