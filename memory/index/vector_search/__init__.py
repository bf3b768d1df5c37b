"""Which texts are most alike: one seam, two ways to look at the stored vectors."""
