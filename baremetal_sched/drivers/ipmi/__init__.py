"""``ipmi``: machines whose management controllers speak IPMI, by ipmitool."""
