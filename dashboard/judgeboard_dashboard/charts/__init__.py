"""The charts, one file each, on the frame all share."""
