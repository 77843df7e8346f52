"""The chat-model seam: what judges need of a model, over an endpoint or from a recording."""
