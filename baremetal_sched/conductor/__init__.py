"""The conductor: registers, sends heartbeats, and does the work that is requested on its nodes."""
