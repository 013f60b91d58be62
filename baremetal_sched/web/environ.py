"""What the server tells the applications, as keys of the WSGI environment."""

#: When the request was completely received, by ``time.monotonic``.
ACCEPTED_AT = "baremetal_sched.accepted_at"

#: A Problem: the request cannot be served, and the API that it is for answers with this.
REFUSAL = "baremetal_sched.refusal"
