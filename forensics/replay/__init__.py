"""What is a rerun given? The gate that answers every request from the record, and the records that it answers from.

Nothing here runs a tool, asks a model or opens a connection.
"""
