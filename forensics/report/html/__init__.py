"""How does a report look in a browser? One file that works without a network, without a script, on paper and aloud."""
