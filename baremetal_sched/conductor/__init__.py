"""The conductor: registers, sends heartbeats, and does the work that is requested on its nodes.

A work item is a row that requests work on a node (``NodeWork``, see ``baremetal.conductors.work_queue``). A ``Job`` is
a work item that this conductor has claimed, with the means to do it; every write of it is fenced. A ``Task`` is a job
of provisioning, with the machine as of its last write. ``handlers`` has a function for each kind of work.
"""
