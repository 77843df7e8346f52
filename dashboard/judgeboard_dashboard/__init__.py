"""The pages of Judgeboard: Streamlit over the core's own functions, without SQL or statistics of their own."""
