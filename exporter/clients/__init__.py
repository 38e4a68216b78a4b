"""The only importers of broker libraries: bounded, deadlined, batched reads that give a snapshot."""
