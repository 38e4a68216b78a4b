"""The criteria of `incident`, one a file."""
