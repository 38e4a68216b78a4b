"""Drills and the local clusters (the lab) that they run on."""
