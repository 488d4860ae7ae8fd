"""What does a Temporal history tell? Its payloads, which activities ask a model, and the walk."""
