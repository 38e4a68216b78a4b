"""The eight criteria of `partition-lag`."""
