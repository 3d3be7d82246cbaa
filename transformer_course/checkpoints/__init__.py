"""Trained models as files: the course's own, published ones, the page's."""
