"""Tools, resources and prompts of external servers: relayed as bytes, with everything servers may ask on the way."""
