"""What a table was, and how it came to be what it is."""
