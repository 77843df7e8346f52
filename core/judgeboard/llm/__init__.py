"""Chat models for judges: models at endpoints, functions, and recorded replies."""
