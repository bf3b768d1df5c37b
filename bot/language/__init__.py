"""Languages: which there are, whose is which, and the catalogues of texts."""
