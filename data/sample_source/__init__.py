"""What the sample log is made from: a small library, ways to answer from it, and people who grade the answers."""
