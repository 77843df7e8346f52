"""Agreement of people, of judges, and of judges with people: loaded, measured, and explained in sentences."""
