"""What all links share: room for large messages, turns, time for what nobody asked."""
