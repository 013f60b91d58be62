"""The page that finds machines for a request, and says why there are none."""
