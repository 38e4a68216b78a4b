"""An exporter in bad weather for an hour: things come and go, brokers restart, every page is held against the truth."""
