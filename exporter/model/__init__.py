"""Frozen facts about one cluster at one moment: no I/O, no clock, no client library."""
