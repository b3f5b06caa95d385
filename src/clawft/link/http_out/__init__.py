"""HTTP as a client: links to servers, and the one place that fetches what others name."""
