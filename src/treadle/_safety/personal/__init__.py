"""Personal data in texts: found, masked before a model sees them, and restored after it has spoken."""
