"""How fast the exporter is, how much memory it needs, and how both grow: `make bench`."""
