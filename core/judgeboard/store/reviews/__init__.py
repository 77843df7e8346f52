"""Reviews and the people who gave them."""
