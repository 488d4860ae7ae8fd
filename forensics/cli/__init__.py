"""How does a person ask? The command line: it chooses, calls the library, prints one document and ends with a code."""
