"""Inspection hooks: what follows from what an agent found, before any rule. On documents: no database, no HTTP."""
