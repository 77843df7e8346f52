"""Roles, permissions, and the people who sign in. Every change is allowed or refused here."""
