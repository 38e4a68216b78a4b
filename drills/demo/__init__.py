"""The demo: an honest small workload on real brokers, and what Prometheus says about it beside what was put in."""
