"""What servers ask on the way of a call, in both eras, and the answers back to them."""
