"""Figures of answers over time: periods, measures, and the trend of a measure."""
