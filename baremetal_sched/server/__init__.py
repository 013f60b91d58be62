"""The HTTP server: waitress's parser and channels, in a loop of our own, as a worker of gunicorn.

One thread reads all connections and hands on complete requests only, so neither slow nor idle clients take a request
thread. ``worker`` is what gunicorn starts, ``loop`` waits for connections, ``connection`` is one of them
(``secure_connection`` with TLS, which ``tls`` does), ``parser`` a request that is being received, ``response`` what is
sent back, ``logger`` gunicorn's log.
"""
