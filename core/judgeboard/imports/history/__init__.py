"""History of other tools: reads their traces and scores and imports them as their exports are imported."""
