"""Moving in: copies the databases of an Ironic and a Placement into this one.

``source_databases`` reads them in snapshots, ``heads`` says which schemas are known. ``survey`` looks for
contradictions and for rows that have no place here, and returns findings. ``rehearsal`` makes the rows without writing
them, and ``integrity`` compares identifiers and references: both report values that cannot be stored or used, which
foreign databases hold. ``importing`` writes: it computes the rows that should be here, and ``row_sync`` changes only
the ones that differ. So an import can be interrupted and repeated, and until it is finished the database is a mirror
(``db.mirror``), which nothing else changes.

``forms`` has the forms of identifiers, in which ``source_databases`` returns them.
"""
