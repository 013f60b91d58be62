"""JSON documents of requests and responses, without HTTP: strict schemas, tables of fields, patches."""
