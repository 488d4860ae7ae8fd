"""What is written down? One versioned document a question, and its renderers, which see nothing but the document."""
