"""What did the agent do, what may that have done to the world, and may it be rerun? One pass a module, over a trace."""
