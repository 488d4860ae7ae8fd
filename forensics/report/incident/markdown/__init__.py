"""What goes into the ticket? The report in Markdown, the verdict first, in a size that a ticket takes."""
