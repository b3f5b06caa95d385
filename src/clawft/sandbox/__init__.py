"""What a child may touch, and the means of this machine that hold it to that. No root, no daemon, no container."""
