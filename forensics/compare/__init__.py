"""Where do two runs part, and why? Alignment, renaming of handles, differences and their causes.

Reads two traces and their handles; knows nothing of a rerun, and opens, runs and contacts nothing.
"""
