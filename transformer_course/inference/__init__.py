"""Inference: trained models, loaded and ready to use."""
