"""What the server tells the applications, as keys of the WSGI environment; and what both know of paths."""

#: When the request was completely received, by ``time.monotonic``.
ACCEPTED_AT = "baremetal_sched.accepted_at"

#: A Problem: the request cannot be served, and the API that it is for answers with this.
REFUSAL = "baremetal_sched.refusal"

#: Makes a context, within which the request waits for something, and the server may have another one served.
IDLE = "baremetal_sched.idle"

#: Paths that are served whatever other requests do. They must not wait for anything.
IMMEDIATE = frozenset({"/healthcheck/live"})
