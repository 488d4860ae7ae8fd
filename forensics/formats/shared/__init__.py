"""What do several readers need? Sources of bytes, documents and lines of JSON, spans; a package for each family."""
