"""The HTTP server: waitress's parser and channels, in our own event loop, as a gunicorn worker.

One thread reads all connections and passes on only complete requests, so neither slow nor idle clients occupy a request
thread. ``worker`` is started by gunicorn, ``loop`` waits for connections, ``connection`` is one of them
(``secure_connection`` with TLS, implemented by ``tls``), ``parser`` a request being received, ``response`` a response
being sent, ``logger`` gunicorn's log.
"""
