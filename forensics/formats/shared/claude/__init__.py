"""What does a Claude Code session tell? Its lines, what stood before, what became of its calls, and the walk."""
