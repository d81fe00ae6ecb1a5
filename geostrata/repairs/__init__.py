"""`geostrata repair`: mends a table's rows, guarded, and dry unless it is told to."""
