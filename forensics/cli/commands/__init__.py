"""What does each command do? One module a command, imported when it is called."""
