"""The database: engine, transactions, schema. Nothing here knows of HTTP."""
