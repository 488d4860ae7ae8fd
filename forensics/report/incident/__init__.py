"""What happened, and what does the record prove of it? The report document, its sixteen parts, and its renderers."""
