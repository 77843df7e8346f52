"""What the tables are and what the database itself enforces."""
