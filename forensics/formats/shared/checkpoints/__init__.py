"""What do LangGraph's checkpoints tell? One record, its values, the tree of a thread, its calls, and the walk."""
