"""What do several readers need? Sources of bytes, JSON lines, and the vocabularies of messages."""
