"""What Judgeboard loads by name: the foreign tools and the methods, a line each."""
