"""What the cases of drills have in common: a clean place to work in, workers in it, and what is read of it."""
