"""The status page: what a person on call wants to know in the first ten seconds, from what has been polled already."""
