"""Requests and answers of Kafka's protocol, one file for each: pure functions between bytes and facts.

Every `decode` raises MalformedError for an answer that can't be right. Error codes stay beside the item they belong to.
"""
