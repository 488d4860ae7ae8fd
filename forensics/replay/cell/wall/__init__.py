"""What keeps a child from the world on Linux? Namespaces, a root of overlays, no privileges, a filter of system calls.

One module each; `raising` puts them together. Everything is what the kernel offers, called through libc: no program has
to be installed (docs/adr/0013).
"""
