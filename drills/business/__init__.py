"""The business that drills run: handlers that add to a counter, each event once, in a database by URL."""
