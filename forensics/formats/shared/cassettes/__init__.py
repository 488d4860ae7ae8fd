"""What do recorded HTTP exchanges tell? Requests and responses of every recorder, and the walk."""
