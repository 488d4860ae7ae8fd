"""What does a Codex rollout tell? What became of its calls, and the walk."""
