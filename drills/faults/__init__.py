"""What a drill changes in the world, one file for each kind: faults, and the resources that it makes for itself."""
