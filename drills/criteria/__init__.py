"""Criteria: pure functions from what a run stored to a judgement, one file each."""
