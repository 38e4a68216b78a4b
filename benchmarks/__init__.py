"""Measurements against what people use today, on the same brokers in the same run."""
