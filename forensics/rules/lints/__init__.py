"""What is wrong with a rule although it can be read? One small class a lint, each in a module of its own."""
