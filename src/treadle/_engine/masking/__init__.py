"""What plug-ins keep from models."""
