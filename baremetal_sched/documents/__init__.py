"""JSON documents that clients send and see, without HTTP: strict schemas, tables of fields, patches."""
