"""What a drill may break: clusters described by a target file. A drill never knows how a node is stopped."""
