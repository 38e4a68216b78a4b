"""The drills, one file each. A file has a `DRILL`."""
