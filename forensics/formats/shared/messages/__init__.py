"""What do messages of model APIs say, whoever keeps them? One message, a conversation, an answer, and how each is told
to a builder.
"""
