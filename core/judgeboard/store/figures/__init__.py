"""Sums and arrays that statistics rest on."""
