"""Which files can be read? One module a format, found through the registry; shared parts in `shared`."""
