"""The runner and the nodes: what their configuration says, and what the routing asks of them."""
