"""Who may do what: roles, the one place where a change is allowed or refused, and the people who sign in."""
