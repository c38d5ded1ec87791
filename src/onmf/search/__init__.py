"""The default solver: sketch, search, swap, settle."""
