"""What Judgeboard needs for the answers of our ticket system."""
