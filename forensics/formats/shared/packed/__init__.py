"""What do packed bytes hold? Compressed streams and archives, unpacked within limits."""
