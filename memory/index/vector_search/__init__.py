"""Find the most similar texts: one interface, two ways to search the stored vectors."""
