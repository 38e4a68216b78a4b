"""The cases of `partition-lag`."""
