"""The result objects as text, JSON and Markdown; the same words in each."""
