"""Kafka, read over its own wire protocol so that every error stays with the item it belongs to."""
