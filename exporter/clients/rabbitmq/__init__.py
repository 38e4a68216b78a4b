"""RabbitMQ, read through its management API and the Prometheus endpoint of each node."""
