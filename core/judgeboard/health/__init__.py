"""Health of a judge: one check a file, listed in `report.CHECKS`."""
