"""The search in trees of providers, in pure Python: each thing that one provider must give is a slot, and slots are
given providers.

The data are ``providers`` (in trees, and for slots) and ``candidate``. ``enumeration`` goes through the trees, and
fills the slots of one (``partial_choice``) as long as nothing shows that there is no candidate (``bounds``,
``dead_ends``) and there is time.

May import ``request.resolved_request`` only: no SQL, and no other package of the service.
"""
