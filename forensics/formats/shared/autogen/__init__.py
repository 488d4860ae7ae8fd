"""What do AutoGen's records say? Messages of its models, those of its agents, and the states in which both stand."""
