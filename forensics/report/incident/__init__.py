"""What happened, and what does the record prove of it? The report document, in sixteen parts, and how it is composed."""
