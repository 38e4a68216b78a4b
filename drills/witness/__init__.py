"""Witnesses: what the cluster says of itself, by ways that no worker uses. They read, and change nothing."""
