"""Are these files those that were handed over? A bundle's manifest: made, signed and checked."""
