"""The edge that all APIs share: the life cycle of a request, bodies, queries, links, paging, errors."""
