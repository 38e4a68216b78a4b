"""The exporter: polls Kafka and RabbitMQ in the background and hands Prometheus a page that is already rendered."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("mqops")
except PackageNotFoundError:  # run from a checkout that was never installed
    VERSION = "0.0.0"
