"""Everything that talks to a GitLab server, one command a file. Imported only by those commands."""
