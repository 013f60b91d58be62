"""``manual-management``: machines whose power somebody switches by hand."""
