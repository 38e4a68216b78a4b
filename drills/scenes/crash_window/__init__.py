"""The cases of `crash-window`."""
