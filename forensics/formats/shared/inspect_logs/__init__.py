"""What do the samples of an Inspect log tell? The messages of one, and the walk over its events."""
