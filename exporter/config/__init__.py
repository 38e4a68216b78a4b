"""Configuration: one YAML file, validated whole before anything starts, every mistake told with its line."""
