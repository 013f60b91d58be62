"""``manual-management``: machines whose power is switched by hand."""
