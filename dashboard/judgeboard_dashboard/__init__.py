"""The pages of Judgeboard, in Streamlit. Pages call functions of the core, and contain no SQL and no statistics."""
