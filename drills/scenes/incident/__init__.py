"""The cases of `incident`."""
