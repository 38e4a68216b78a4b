"""What a drill knows and says: frozen data, no I/O, no clock, no client library."""
