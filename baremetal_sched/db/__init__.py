"""The database: engine, transactions, schema. It knows nothing of HTTP."""
