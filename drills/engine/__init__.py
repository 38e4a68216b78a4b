"""Runs a drill: phases, changes and their undo, deadlines, stop conditions, judging, and all of it after a kill -9."""
