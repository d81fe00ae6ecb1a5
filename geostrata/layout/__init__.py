"""How a table's files are laid out and what properties it has, as its model declares them. Pure, but for `reading`."""
