"""The pages of Judgeboard, in Streamlit. They call functions of the core, and contain no SQL and no statistics."""
