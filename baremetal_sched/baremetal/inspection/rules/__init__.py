"""Inspection rules at work, on documents: no database, no HTTP."""
