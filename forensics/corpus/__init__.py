"""What do very many traces come to? An audit of whole folders, by several processes, which goes on where it ended."""
