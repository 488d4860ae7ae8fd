"""What words does everything else speak? The vocabulary and the safety kernel: standard library and msgspec only."""
