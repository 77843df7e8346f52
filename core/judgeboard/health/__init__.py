"""Health of a judge: each check is a function, listed in `report.CHECKS`."""
