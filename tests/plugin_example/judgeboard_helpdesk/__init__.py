"""What Judgeboard needs for the answers of our help desk."""
