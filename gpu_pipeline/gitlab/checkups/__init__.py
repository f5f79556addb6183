"""What `gitlab doctor` looks at, one subject a file."""
