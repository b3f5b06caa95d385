"""What we are measured against. Each file is a program; none imports clawft."""
