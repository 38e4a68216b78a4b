"""The eight criteria of `crash-window`."""
