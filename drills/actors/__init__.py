"""Workers: producers and consumers as real processes with connections of their own, held and killed by the driver."""
