"""What `mq-exporter` can be asked to do, one file each: `run(arguments)` gives the exit code."""
