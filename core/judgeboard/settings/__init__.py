"""All settings of a project: their model, the project file, and the secrets among them."""
