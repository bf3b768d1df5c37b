"""Which texts are most alike: one seam, three ways to look at the stored vectors."""
