"""The edge that all APIs share: the life of a request, bodies, queries, links, paging, errors."""
