"""What agents report, and bodies of requests about inspection rules."""
